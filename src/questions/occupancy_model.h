// The modelled part of question 1, as occupancy_model.cpp and occupancy_model_beside.cpp share it.
#pragma once

#include <string>
#include <vector>

#include "model/capture.h"
#include "model/finding.h"
#include "questions/occupancy_limits.h"
#include "questions/questions.h"
#include "questions/timeline.h"

namespace kvet::questions {

// K as it is launched most of the time.
struct UsualLaunch {
  const KernelShape& shape;
  const SmLimits& limits;
  const Theoretical& theoretical;
  uint32_t sms;  // that its context may use
};

// SMs that the execution's context may use: as recorded (green contexts, MPS), else all of the device's.
uint32_t usable_multiprocessors(const Capture& capture, const Execution& execution);

// "96 KiB", or bytes where it is no whole number of KiB.
std::string size_text(uint64_t bytes);

// occupancy.fits_beside, occupancy.sibling_fits, occupancy.coresident_limit.*: for each of the siblings seen most.
void add_beside(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                const std::vector<DeviceTimeline>& devices, const UsualLaunch& usual);

}  // namespace kvet::questions
