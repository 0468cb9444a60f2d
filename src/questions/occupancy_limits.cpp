#include "questions/occupancy_limits.h"

#include <algorithm>
#include <cmath>

#include "questions/carve_out.h"

namespace kvet::questions {
namespace {

uint64_t rounded_up(uint64_t value, uint64_t step) { return step == 0 ? value : (value + step - 1) / step * step; }

uint64_t product(const std::array<uint32_t, 3>& size) {
  // Saturates: the numbers come from a file.
  const double exact = static_cast<double>(size[0]) * size[1] * size[2];
  return exact > 1e18 ? uint64_t{1'000'000'000'000'000'000} : uint64_t{size[0]} * size[1] * size[2];
}

uint64_t blocks_by_registers(const SmLimits& limits, uint64_t per_warp, uint64_t warps) {
  if (per_warp == 0) {
    return BlockLimits::none;
  }
  if (per_warp > rounded_up(uint64_t{most_registers_per_thread} * threads_per_warp, limits.register_granularity)) {
    return 0;
  }
  // A warp takes all of its registers from one partition; how a block's warps fall on the partitions is free. The hardware's own
  // check of a launch, as if warps came in fours, refuses nothing that passes here.
  return limits.registers / limits.partitions / per_warp * limits.partitions / warps;
}

}  // namespace

std::string_view name(Limiter limiter) {
  switch (limiter) {
    case Limiter::registers: return "registers";
    case Limiter::shared_memory: return "shared memory";
    case Limiter::carve_out: return "the driver's carve-out";
    case Limiter::warps: return "warp slots";
    case Limiter::block_slots: return "block slots";
    case Limiter::clusters: return "clusters";
  }
  return "?";
}

std::string names(const std::vector<Limiter>& limiters) {
  std::string text;
  for (size_t i = 0; i < limiters.size(); ++i) {
    text += i == 0 ? "" : i + 1 < limiters.size() ? ", " : " and ";
    text += name(limiters[i]);
  }
  return text;
}

BlockResources block_resources(const SmLimits& limits, const KernelShape& shape) {
  BlockResources block;
  const uint64_t threads = std::min<uint64_t>(product(shape.block), 1u << 20);
  block.warps = static_cast<uint32_t>((threads + threads_per_warp - 1) / threads_per_warp);
  const uint64_t registers = std::min<uint64_t>(shape.registers_per_thread, 1u << 16);
  block.registers_per_warp =
      static_cast<uint32_t>(rounded_up(registers * threads_per_warp, limits.register_granularity));
  const uint64_t shared = uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes + limits.shared_reserved;
  block.shared_bytes = static_cast<uint32_t>(
      std::min<uint64_t>(rounded_up(shared, limits.shared_granularity), std::numeric_limits<uint32_t>::max()));
  return block;
}

uint64_t BlockLimits::least() const { return std::min({registers, shared_memory, carve_out, warps, block_slots}); }

BlockLimits block_limits(const SmLimits& limits, const BlockResources& block, std::optional<uint32_t> carve_out) {
  BlockLimits result;
  result.block_slots = limits.blocks;
  if (block.warps > 0) {
    result.warps = block.warps > most_threads_per_block / threads_per_warp ? 0 : limits.warps / block.warps;
    result.registers = blocks_by_registers(limits, block.registers_per_warp, block.warps);
  }
  if (block.shared_bytes > 0) {
    result.shared_memory = limits.shared_bytes / block.shared_bytes;
    if (carve_out) {
      result.carve_out = *carve_out / block.shared_bytes;
    }
  }
  return result;
}

std::optional<Theoretical> theoretical(const SmLimits& limits, const KernelShape& shape, uint32_t sms) {
  const BlockResources block = block_resources(limits, shape);
  if (block.warps == 0 || limits.warps == 0) {
    return std::nullopt;
  }
  Theoretical result;
  result.limits = block_limits(limits, block, recorded_carve_out(limits, shape, block.shared_bytes));
  const uint64_t blocks = result.limits.least();
  result.blocks_per_sm = static_cast<double>(blocks);
  auto binds = [&](uint64_t limit, Limiter limiter) {
    if (limit == blocks) {
      result.limiters.push_back(limiter);
    }
  };
  binds(result.limits.registers, Limiter::registers);
  binds(result.limits.shared_memory, Limiter::shared_memory);
  binds(result.limits.warps, Limiter::warps);
  binds(result.limits.block_slots, Limiter::block_slots);
  if (result.limiters
          .empty()) {  // beside another it does not count: the driver chooses it so that what else allows fits
    result.limiters.push_back(Limiter::carve_out);
  }

  const uint64_t cluster = product(shape.cluster);
  if (cluster > 0 && sms > 0 && blocks > 0) {
    uint64_t clusters = shape.max_active_clusters;
    if (clusters == 0 && cluster > 1) {
      result.modelled_clusters = cluster_bounds(limits, sms, blocks, cluster);
      clusters = result.modelled_clusters->most;
    }
    const double by_clusters = static_cast<double>(clusters) * static_cast<double>(cluster) / sms;
    if (by_clusters < result.blocks_per_sm && (clusters > 0 || cluster > 1)) {
      result.blocks_per_sm = by_clusters;
      result.limiters = {Limiter::clusters};
    }
  }
  result.occupancy = result.blocks_per_sm * block.warps / limits.warps;
  return result;
}

std::optional<Waves> waves(const Theoretical& theoretical, const KernelShape& shape, uint32_t sms) {
  const uint64_t grid = product(shape.grid);
  const double at_once = theoretical.blocks_per_sm * sms;
  if (grid == 0 || at_once <= 0) {
    return std::nullopt;
  }
  Waves result;
  result.waves = static_cast<double>(grid) / at_once;
  result.last_fill = result.waves - (std::ceil(result.waves) - 1);
  return result;
}

}  // namespace kvet::questions
