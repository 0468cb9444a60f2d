// The entry points of libcuda that the launch program sits on, with what it is told about each.
#pragma once

#include <span>

#include "probes/kernel/probed_function.h"

namespace kvet::probes {

// `count_only` (device tier): returns of launches are of no interest, those of captures are.
[[nodiscard]] std::span<const ProbedFunction> launch_functions(bool count_only);

}  // namespace kvet::probes
