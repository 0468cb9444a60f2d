// The parts that kernels.cpp puts together.
#pragma once

#include <string>

namespace kvet::gpu_work {

// The kvet_dram_* kernels of kernels.h, without the module's header.
std::string memory_kernel_text();

}  // namespace kvet::gpu_work
