// The parts that occupancy() puts together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/capture.h"
#include "model/finding.h"
#include "questions/counter_pool.h"
#include "questions/occupancy_limits.h"
#include "questions/questions.h"
#include "questions/timeline.h"

namespace kvet::questions {

// occupancy.theoretical, occupancy.waves, occupancy.tail, occupancy.fits_beside.
void add_modelled(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                  const std::vector<DeviceTimeline>& devices);

// occupancy.slow_down, one for each sibling with the most executions beside.
void add_slow_down(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                   const std::vector<DeviceTimeline>& devices);

// occupancy.corun.own and occupancy.retained. `solo` is the solo occupancy (elapsed, 0 to 1), where it is known; `doubt` is said after
// every figure.
void add_own(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
             const std::vector<DeviceTimeline>& devices, const std::vector<DeviceSamples>& samples,
             const std::optional<Estimate>& solo, const std::string& doubt);

// Siblings that ran when an execution of K began, those with most executions first.
struct SiblingUse {
  StringId name;
  uint64_t runs = 0;
};
std::vector<SiblingUse> siblings_at_start(const std::vector<DeviceTimeline>& devices, size_t most);

}  // namespace kvet::questions
