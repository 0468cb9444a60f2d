// Which part of an SM's data cache is shared memory while a kernel runs, alone and beside another.
//
// The rule for kernels beside each other, from what NVIDIA documents:
// - An SM has one carve-out at a time, and every block on it lives within that. A kernel with little shared memory may ask for a
//   larger one "to encourage concurrent execution with later kernels" that need more (CUDA C++ Programming Guide, "Compute
//   Capability 7.x, Shared Memory"): so a block does not enter an SM whose carve-out has no room left for it.
// - Changing it waits for what runs: launches of kernels with different hard requirements "serialize behind shared memory
//   reconfigurations" (the same place); a different preference "may insert a device-side synchronization point"
//   (cuFuncSetCacheConfig).
// - What a kernel asks for is a hint; the driver may take another "to avoid thrashing", and without a preference it keeps the
//   current one unless a launch needs more (cudaDeviceSetCacheConfig, cudaFuncCachePreferNone).
// So two kernels share an SM only within one carve-out: modelled as the larger of the two that the driver chose. Where that is too
// small, the SM has to drain first, or either has to ask for more.
#pragma once

#include <cstdint>
#include <optional>

#include "model/events.h"
#include "questions/sm_limits.h"

namespace kvet::questions {

// What a launch records as its carve-out, at most the largest. Empty where it is not recorded, and where it does not hold one
// block of the launch: that cannot be what the block ran in (seen on an H200: 32 KiB for blocks of 220 KB).
std::optional<uint32_t> recorded_carve_out(const SmLimits& limits, const KernelShape& shape, uint32_t block_bytes);

// Bytes of shared memory that both have together. Unrecorded ones count as the largest.
uint32_t common_carve_out(const SmLimits& limits, std::optional<uint32_t> one, std::optional<uint32_t> other);

}  // namespace kvet::questions
