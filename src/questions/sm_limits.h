// What one SM has, by compute capability, and in which portions it is handed out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/events.h"

namespace kvet::questions {

inline constexpr uint32_t threads_per_warp = 32;
inline constexpr uint32_t most_threads_per_block = 1024;     // in every row of the guide's table
inline constexpr uint32_t most_registers_per_thread = 255;  // likewise

struct SmLimits {
  uint32_t compute_major = 0, compute_minor = 0;
  uint32_t warps = 0, blocks = 0;
  uint32_t registers = 0;               // 32-bit
  uint32_t shared_bytes = 0;            // the largest carve-out
  uint32_t shared_granularity = 0;      // bytes
  uint32_t shared_reserved = 0;         // bytes per block that the driver keeps
  uint32_t register_granularity = 256;  // registers per warp
  uint32_t partitions = 4;              // each has a quarter of the registers and of the warp slots
  std::span<const uint16_t> carve_outs_kib;  // ascending; empty: not known, only the largest
};

// Compute capability 7.0 to 12.1 (table in the .cpp); what the device itself reported goes before the table. A minor version
// that the table lacks is taken from the device's report alone, by the allocation rules of its major version; empty where that
// is incomplete, and for another major version.
std::optional<SmLimits> sm_limits(const Device& device);

// Warps that the whole device holds; 0: unknown.
double warp_slots(const Device& device);

// The smallest carve-out that holds so many bytes, reserves included; the largest where the sizes are not known; empty where
// none does.
std::optional<uint32_t> carve_out_holding(const SmLimits& limits, uint64_t bytes);

}  // namespace kvet::questions
