// Where the wall time of a step went: a partition, so that its parts add up to the step.
//
// Steps are those of questions/steps.h, of the process of the thread that launches K.
//
// At each moment exactly one part has the time: K, alone or beside a sibling; else other kernels; else collectives; else
// copies and memsets; else the device is idle, and what the thread did meanwhile has it.
#pragma once

#include <vector>

#include "questions/dispatch_parts.h"
#include "questions/steps.h"

namespace kvet::questions {

// What one device did, by part; the sets do not overlap.
struct DeviceParts {
  SpanSet alone, beside, others, collectives, copies, busy;
};
[[nodiscard]] DeviceParts device_parts(const Capture& capture, const KernelSet& kernels, DeviceId device);

// `device`: the parts of the device that this thread launches K on most.
void append_step_partition(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher,
                           const Steps& steps, const DeviceParts& device);

}  // namespace kvet::questions
