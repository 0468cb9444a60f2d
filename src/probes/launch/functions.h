// The entry points of libcuda that the launch program sits on, with what it is told about each.
#pragma once

#include <span>

#include "probes/kernel/probed_function.h"

namespace kvet::probes {

// All of them. `count_only` (device tier): returns of launches are of no interest, those of captures are.
[[nodiscard]] std::span<const ProbedFunction> launch_functions(bool count_only);
// The launches alone, for their returns: what turns counting into events for one process.
[[nodiscard]] std::span<const ProbedFunction> launch_returns();

}  // namespace kvet::probes
