// K in the workload against counters of K alone that another tool read.
#pragma once

#include <vector>

#include "model/capture.h"
#include "model/isolated_counters.h"
#include "questions/questions.h"

namespace kvet::questions {

// occupancy.isolated.*, dram.isolated.* and dram.locality (docs/findings.md). `answered` are the findings of occupancy() and dram() for
// the same capture and kernels. Launches of the profile are K's where the names agree (mangled, decoded, qualified name with template
// arguments, or else the function's name where that is unambiguous) and so do grid and block; figures are means, weighted by K's
// executions of each shape. One finding per question is unavailable, with the names and shapes that the profile has, where less than 90% of K's executions are
// matched, or where the GPU is another.
std::vector<Finding> against_profile(const Capture& capture, const KernelSet& kernels, const IsolatedProfile& profile,
                                     const std::vector<Finding>& answered);

}  // namespace kvet::questions
