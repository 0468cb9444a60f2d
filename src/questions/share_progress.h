// What an execution of each launch shape causes, from the device's count and the executions' progress alone: over stretches of time
// long enough for several executions, the count is the sum over shapes of executions' worth of work done × cost of an execution.
// That holds whether the memory is saturated or not, which a regression on resident warps does not: where saturation holds
// the device's rate, executions take longer instead.
#pragma once

#include <map>

#include "questions/share_estimate.h"

namespace kvet::questions {

// By ShapeId::value; only where the progress determines it. An execution's work is taken to be done evenly over its time, which
// is why a stretch is at least four mean durations of the longest-running shapes.
std::map<uint32_t, SoloCost> costs_by_progress(const Capture& capture, DeviceId device, const ShareTable& table,
                                               const ShareInput& input);

}  // namespace kvet::questions
