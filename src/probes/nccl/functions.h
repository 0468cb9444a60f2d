// The functions of NCCL that its program sits on, with what it is told about each.
#pragma once

#include <span>

#include "probes/kernel/probed_function.h"

namespace kvet::probes {

[[nodiscard]] std::span<const ProbedFunction> nccl_functions();

}  // namespace kvet::probes
