// The parts that dram() puts together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "questions/counter_pool.h"
#include "questions/questions.h"
#include "questions/residency.h"
#include "questions/saturation.h"
#include "questions/timeline.h"

namespace kvet::questions {

enum class Direction : uint8_t { read, write, both };
// Empty where the sample does not hold it, or no memory could have moved it.
std::optional<double> dram_bytes(const Sample& sample, Direction direction);

struct DramDevice {
  const Device* device;
  const DeviceTimeline* timeline;
  DeviceSamples samples;
  SpanSet transfers;
  SpanSet forbidden;  // for solo figures: others' work, and the time in which L2 may still write back what they left
  ReachableBandwidth reachable;
};
DramDevice dram_device(const Capture& capture, const DeviceTimeline& timeline);

// How long the L2 may still be writing back what an earlier kernel or copy left in it: twice the time to drain all of it
// at peak bandwidth, 50 us where the device's figures are unknown.
int64_t write_back_ns(const Device& device);

struct Unknown {
  std::string reason, advice;
};
// Why there is no figure, the most basic cause first. `whole`: executions that were alone from start to end.
Unknown why_no_dram(const std::vector<DramDevice>& devices, uint64_t whole);

// Of all devices, where they are alike; else 0.
double peak_bytes_per_s(const std::vector<DramDevice>& devices);

// The figure in bytes/s, and in percent of the peak where that is known. `estimate` is in bytes per ns.
void add_rate(std::vector<Finding>& findings, const std::string& id, const std::string& label, const Estimate& estimate,
              Evidence evidence, double peak_bytes, const std::string& sentence, const std::string& more);

// dram.corun.device and dram.saturated.
void add_dram_corun(std::vector<Finding>& findings, const KernelSet& kernels, const std::vector<DramDevice>& devices,
                    double peak_bytes, uint64_t whole);
void add_saturated(std::vector<Finding>& findings, const KernelSet& kernels, const std::vector<DramDevice>& devices,
                   uint64_t whole);

}  // namespace kvet::questions
