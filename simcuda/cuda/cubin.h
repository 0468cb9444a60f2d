// A module's image as the real driver shows it to a profiler: an ELF file with a section .text.NAME per kernel.
#pragma once

#include <vector>

#include "cuda/driver.h"

namespace simcuda::driver {

// The "machine code" of a kernel is a function of everything that the module said about it: two kernels of one name that
// behave differently differ in their code too.
std::vector<unsigned char> make_cubin(const Module& module);

}  // namespace simcuda::driver
