#include "questions/occupancy_limits_beside.h"

#include <algorithm>
#include <cmath>

#include "questions/carve_out.h"

namespace kvet::questions {
namespace {

uint64_t left(uint64_t all, uint64_t taken) { return all > taken ? all - taken : 0; }

// What `count` blocks leave of an SM.
struct Rest {
  uint64_t warps, slots, shared_taken;
  // Resident warps spread evenly over the partitions: some have one more than the others.
  uint64_t fuller, registers_in_fuller, registers_in_others;
  [[nodiscard]] uint64_t shared_bytes(uint64_t carve_out) const { return left(carve_out, shared_taken); }
};
Rest rest_beside(const SmLimits& limits, const BlockResources& resident, uint32_t count) {
  const uint64_t warps = uint64_t{resident.warps} * count;
  const uint64_t each = warps / limits.partitions, all = limits.registers / limits.partitions;
  return {.warps = left(limits.warps, warps),
          .slots = left(limits.blocks, count),
          .shared_taken = uint64_t{resident.shared_bytes} * count,
          .fuller = warps % limits.partitions,
          .registers_in_fuller = left(all, (each + 1) * resident.registers_per_warp),
          .registers_in_others = left(all, each * resident.registers_per_warp)};
}

uint64_t warps_by_registers(const SmLimits& limits, const Rest& rest, uint64_t per_warp) {
  return per_warp == 0 ? BlockLimits::none
                       : rest.fuller * (rest.registers_in_fuller / per_warp) +
                             (limits.partitions - rest.fuller) * (rest.registers_in_others / per_warp);
}

}  // namespace

Beside fits_beside(const SmLimits& limits, const KernelShape& shape, const KernelShape& other, uint32_t count) {
  const BlockResources own = block_resources(limits, shape), theirs = block_resources(limits, other);
  Beside result;
  if (own.warps == 0) {
    return result;
  }
  const Rest rest = rest_beside(limits, theirs, count);
  // A block that does not fit on an empty SM does not fit here.
  const BlockLimits alone = block_limits(limits, own, std::nullopt);
  const auto own_carve_out = recorded_carve_out(limits, shape, own.shared_bytes),
             their_carve_out = recorded_carve_out(limits, other, theirs.shared_bytes);
  BlockLimits here;
  here.warps = std::min(alone.warps, rest.warps / own.warps);
  here.block_slots = rest.slots;
  here.registers = std::min(alone.registers, warps_by_registers(limits, rest, own.registers_per_warp) / own.warps);
  auto by_shared = [&](uint64_t carve_out) {
    return own.shared_bytes == 0 ? BlockLimits::none : rest.shared_bytes(carve_out) / own.shared_bytes;
  };
  here.shared_memory = by_shared(limits.shared_bytes);
  here.carve_out = by_shared(common_carve_out(limits, own_carve_out, their_carve_out));
  const uint64_t fit = here.least();
  result.blocks = static_cast<uint32_t>(std::min<uint64_t>(fit, limits.blocks));
  auto binds = [&](uint64_t limit, Limiter limiter) {
    if (limit == fit) {
      result.limiters.push_back(limiter);
    }
  };
  binds(here.registers, Limiter::registers);
  binds(here.shared_memory, Limiter::shared_memory);
  binds(here.warps, Limiter::warps);
  binds(here.block_slots, Limiter::block_slots);
  if (result.limiters.empty()) {
    result.limiters.push_back(Limiter::carve_out);
  }
  if (their_carve_out && by_shared(*their_carve_out) < fit) {
    result.blocks_in_residents_carve_out = static_cast<uint32_t>(by_shared(*their_carve_out));
  }
  return result;
}

uint32_t resident_blocks(const Theoretical& theoretical, const KernelShape& shape, uint32_t sms) {
  double resident = std::floor(theoretical.blocks_per_sm);
  if (theoretical.blocks_per_sm > 0) {
    resident = std::max(resident, 1.0);  // an average below one, by clusters: SMs that have a block have one
  }
  const double grid = static_cast<double>(shape.grid[0]) * shape.grid[1] * shape.grid[2];
  if (grid > 0 && sms > 0) {
    resident = std::min(resident, std::ceil(grid / sms));
  }
  return static_cast<uint32_t>(resident);
}

CoresidentLimit coresident_limit(const SmLimits& limits, const KernelShape& shape, const KernelShape& other,
                                 uint32_t count) {
  const BlockResources own = block_resources(limits, shape), theirs = block_resources(limits, other);
  const Rest rest = rest_beside(limits, theirs, count);
  CoresidentLimit result;
  if (rest.slots == 0) {
    return result;
  }
  auto shared_in = [&](uint64_t carve_out) {
    const uint64_t bytes = rest.shared_bytes(carve_out);
    const uint64_t portion =
        limits.shared_granularity == 0 ? bytes : bytes / limits.shared_granularity * limits.shared_granularity;
    return static_cast<uint32_t>(left(portion, limits.shared_reserved));
  };
  result.shared_bytes = shared_in(limits.shared_bytes);
  const auto their_carve_out = recorded_carve_out(limits, other, theirs.shared_bytes);
  result.shared_bytes_in_carve_out = shared_in(their_carve_out.value_or(limits.shared_bytes));
  if (result.shared_bytes_in_carve_out < result.shared_bytes) {
    result.carve_out = carve_out_holding(limits, rest.shared_taken + result.shared_bytes + limits.shared_reserved);
  }
  const uint64_t most_warps = std::min<uint64_t>(rest.warps, most_threads_per_block / threads_per_warp);
  const uint64_t by_registers = warps_by_registers(limits, rest, own.registers_per_warp);
  result.threads = static_cast<uint32_t>(std::min(most_warps, by_registers)) * threads_per_warp;
  uint32_t registers = most_registers_per_thread;
  const uint32_t step = limits.register_granularity / threads_per_warp;
  while (registers > 0 &&
         warps_by_registers(limits, rest, uint64_t{(registers + step - 1) / step} * step * threads_per_warp) <
             own.warps) {
    registers = (registers - 1) / step * step;
  }
  result.registers_per_thread = own.warps > 0 ? registers : 0;
  return result;
}

}  // namespace kvet::questions
