// How many blocks of a launch fit on an SM, and why not more: arithmetic on launch parameters, no measurement.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/events.h"

namespace kvet::questions {

// What an SM has, and how it is handed out.
struct SmLimits {
  uint32_t warps = 0, blocks = 0;
  uint32_t registers = 0;           // 32-bit
  uint32_t shared_bytes = 0;        // the largest carve-out
  uint32_t shared_granularity = 0;  // bytes
  uint32_t shared_reserved = 0;     // bytes per block that the driver keeps
  uint32_t register_granularity = 256;  // registers per warp
  uint32_t partitions = 4;              // each has a quarter of the registers and of the warp slots
};

// By compute capability 7.0 to 12.x (table in the .cpp); what the device itself reported goes before the table. Empty for
// another compute capability.
std::optional<SmLimits> sm_limits(const Device& device);

enum class Limiter : uint8_t { warps, registers, shared_memory, block_slots, clusters, does_not_fit };
[[nodiscard]] std::string_view name(Limiter limiter);

// What one block takes from its SM, as allocated.
struct BlockResources {
  uint32_t warps = 0;
  uint32_t registers_per_warp = 0;  // rounded up
  uint32_t shared_bytes = 0;  // reserve included, rounded up
  [[nodiscard]] uint64_t registers() const { return uint64_t{registers_per_warp} * warps; }
};
BlockResources block_resources(const SmLimits& limits, const KernelShape& shape);

struct Theoretical {
  double blocks_per_sm = 0;  // whole, but for clusters: an average over the SMs
  Limiter limiter = Limiter::warps;
  double occupancy = 0;  // warps resident ÷ warp slots, 0 to 1
};
// Empty where the block size is unknown. `sms` is for clusters only: how many SMs the launch may use.
std::optional<Theoretical> theoretical(const SmLimits& limits, const KernelShape& shape, uint32_t sms);

// How many blocks of `shape` still fit on an SM that holds `count` blocks of `other`, with the carve-out that either asked for.
uint32_t fits_beside(const SmLimits& limits, const KernelShape& shape, const KernelShape& other, uint32_t count);

struct Waves {
  double waves = 0;  // grid ÷ what runs at once
  double last_fill = 0;  // how full the last wave is, (0, 1]
};
std::optional<Waves> waves(const Theoretical& theoretical, const KernelShape& shape, uint32_t sms);

}  // namespace kvet::questions
