// What a module image says about its kernels.
//
// simcuda takes PTX text, of which it reads the entry names, and comment lines of its own, which a real driver ignores; so
// the same text runs on both:
//
//   //simcuda NAME registers=96 shared=4096 local=0 block_ns=12000 read=65536 write=65536 instructions=4000
//   //simcuda NAME argument_ns=0      the argument of that number (64 bits; 0 if none is given) is the time a block takes, in
//                                     nanoseconds
//   //simcuda NAME work=2,3           the product of these arguments (64 bits) is how much the kernel does: read, write,
//                                     instructions and block_ns are then per unit of it, shared by all blocks
//   //simcuda NAME records=0          that argument is the address of 32 bytes per block in pinned memory, where each block
//                                     writes its entry and exit (ns of the GPU's timer, 64 bits) and its multiprocessor (32 bits)
//   //simcuda NAME handshake=0        the four arguments from that one on are a page in pinned memory, how many questions to
//                                     answer there with the GPU's timer (32 bits), 32 bits, and the time to give up after
//   //simcuda NAME collective         arguments: communicator, rank, transfer time in ns (64 bits each)
//
// Else read, write and instructions are per block. A kernel that is only named in such a line exists as well.
#pragma once

#include <memory>
#include <string_view>

#include "cuda/driver.h"

namespace simcuda::driver {

// nullptr where the text names no kernel.
std::unique_ptr<Module> parse_module(std::string_view text);

}  // namespace simcuda::driver
