// What would allow one more block per SM: each resource that stands in the way, turned into the largest value that does not.
#include <algorithm>

#include "questions/carve_out.h"
#include "questions/occupancy_limits.h"

namespace kvet::questions {
namespace {

uint64_t rounded_down(uint64_t value, uint64_t step) { return step == 0 ? value : value / step * step; }

// The most registers per thread with which so many blocks of so many warps fit; 0: none.
uint32_t most_registers(const SmLimits& limits, BlockResources block, uint64_t blocks) {
  const uint32_t step = limits.register_granularity / threads_per_warp;
  for (uint32_t registers = most_registers_per_thread / step * step; registers > 0; registers -= step) {
    block.registers_per_warp = registers * threads_per_warp;
    if (block_limits(limits, block, std::nullopt).registers >= blocks) {
      return registers;
    }
  }
  return 0;
}

// Block slots bind: no smaller block helps, larger ones fit as often.
std::optional<NextStep> larger_blocks(const SmLimits& limits, BlockResources block, const Theoretical& now) {
  const uint32_t warps_now = block.warps;
  for (block.warps = most_threads_per_block / threads_per_warp; block.warps > warps_now; --block.warps) {
    if (block_limits(limits, block, std::nullopt).least() >= now.limits.block_slots) {
      NextStep step;
      step.blocks_per_sm = now.limits.block_slots;
      step.most_threads = block.warps * threads_per_warp;
      step.occupancy = static_cast<double>(step.blocks_per_sm * block.warps) / limits.warps;
      return step;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<NextStep> next_step(const SmLimits& limits, const KernelShape& shape, const Theoretical& now) {
  if (std::ranges::find(now.limiters, Limiter::clusters) != now.limiters.end() || limits.warps == 0) {
    return std::nullopt;
  }
  BlockResources block = block_resources(limits, shape);
  const uint64_t wanted = now.limits.least() + 1;
  if (block.warps == 0) {
    return std::nullopt;
  }
  if (now.limits.block_slots < wanted) {
    return larger_blocks(limits, block, now);
  }
  NextStep step;
  step.blocks_per_sm = wanted;
  if (now.limits.warps < wanted) {
    block.warps =
        static_cast<uint32_t>(std::min<uint64_t>(limits.warps / wanted, most_threads_per_block / threads_per_warp));
    step.most_threads = block.warps * threads_per_warp;
  }
  step.occupancy = static_cast<double>(wanted * block.warps) / limits.warps;
  if (block.warps == 0 || step.occupancy <= now.occupancy) {
    return std::nullopt;
  }
  if (block_limits(limits, block, std::nullopt).registers < wanted) {
    const uint32_t registers = most_registers(limits, block, wanted);
    if (registers == 0) {
      return std::nullopt;
    }
    step.most_registers_per_thread = registers;
  }
  if (now.limits.shared_memory < wanted) {
    block.shared_bytes = static_cast<uint32_t>(rounded_down(limits.shared_bytes / wanted, limits.shared_granularity));
    if (block.shared_bytes < limits.shared_reserved) {
      return std::nullopt;
    }
    step.most_shared_bytes = block.shared_bytes - limits.shared_reserved;
  }
  if (now.limiters.front() == Limiter::carve_out) {
    step.least_carve_out = carve_out_holding(limits, wanted * block.shared_bytes);
  }
  return step;
}

}  // namespace kvet::questions
