// How many blocks of a launch fit on an SM, why not more, and what would allow more: arithmetic on launch parameters, no
// measurement. Not modelled, since no record holds it: named barriers (from 9.0 on, a block that uses more than two, or from
// 10.1, 11.0 and 12.0 on more than one, may be limited by them) and tensor memory. `setmaxnreg` moves registers inside what a
// block was given at its launch, and changes nothing here.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/events.h"
#include "questions/clusters.h"
#include "questions/sm_limits.h"

namespace kvet::questions {

enum class Limiter : uint8_t { registers, shared_memory, carve_out, warps, block_slots, clusters };
[[nodiscard]] std::string_view name(Limiter limiter);
// "registers and shared memory"
[[nodiscard]] std::string names(const std::vector<Limiter>& limiters);

// What one block takes from its SM, as allocated.
struct BlockResources {
  uint32_t warps = 0;
  uint32_t registers_per_warp = 0;  // rounded up
  uint32_t shared_bytes = 0;  // reserve included, rounded up
  [[nodiscard]] uint64_t registers() const { return uint64_t{registers_per_warp} * warps; }
};
BlockResources block_resources(const SmLimits& limits, const KernelShape& shape);

// Blocks per SM that each resource alone would allow.
struct BlockLimits {
  static constexpr uint64_t none = std::numeric_limits<uint64_t>::max();
  uint64_t registers = none;
  uint64_t shared_memory = none;  // at the largest carve-out
  uint64_t carve_out = none;  // in what the driver chose, as recorded
  uint64_t warps = none, block_slots = none;
  [[nodiscard]] uint64_t least() const;
};
BlockLimits block_limits(const SmLimits& limits, const BlockResources& block, std::optional<uint32_t> carve_out);

struct Theoretical {
  double blocks_per_sm = 0;  // whole, but for clusters: an average over the SMs
  // All that bind, those that a change of the kernel can lift first. With 0 blocks: what a block exceeds.
  std::vector<Limiter> limiters;
  double occupancy = 0;  // warps resident ÷ warp slots, 0 to 1
  BlockLimits limits;
  std::optional<ClusterBounds>
      modelled_clusters;  // where the launch has clusters and the driver's figure is not recorded;
  // blocks_per_sm and occupancy are then those at the most
};
// Empty where the block size is unknown. `sms`: how many the launch may use (MPS and green contexts allow fewer than there are); 0:
// unknown, then clusters are left out.
std::optional<Theoretical> theoretical(const SmLimits& limits, const KernelShape& shape, uint32_t sms);

// The change of the launch that allows one more block per SM, each part needed. Nothing where clusters or the SM's own slots
// bind at full occupancy, where the warps resident would not become more, or where no value does it.
struct NextStep {
  uint64_t blocks_per_sm = 0;
  double occupancy = 0;
  std::optional<uint32_t> most_registers_per_thread;  // a multiple of 8, the step in which they are allocated
  std::optional<uint32_t> most_shared_bytes;  // static + dynamic, per block
  std::optional<uint32_t> most_threads;  // per block
  std::optional<uint32_t> least_carve_out;  // bytes
};
std::optional<NextStep> next_step(const SmLimits& limits, const KernelShape& shape, const Theoretical& now);

struct Waves {
  double waves = 0;  // grid ÷ what runs at once
  double last_fill = 0;  // how full the last wave is, (0, 1]
};
std::optional<Waves> waves(const Theoretical& theoretical, const KernelShape& shape, uint32_t sms);

}  // namespace kvet::questions
