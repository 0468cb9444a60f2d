#include "device/placement.h"

#include <algorithm>

#include "device/engine.h"

namespace simcuda {
namespace {

constexpr uint32_t round_up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

bool fits(const Multiprocessor& unit, const BlockCost& cost) {
  return unit.blocks < blocks_per_multiprocessor && unit.warps + cost.warps <= warps_per_multiprocessor &&
         unit.registers + cost.registers <= registers_per_multiprocessor &&
         unit.shared_bytes + cost.shared_bytes <= shared_bytes_per_multiprocessor;
}

}  // namespace

BlockCost block_resources(uint32_t threads, uint32_t registers_per_thread, uint32_t static_shared,
                          uint32_t dynamic_shared) {
  BlockCost cost{};
  cost.warps = (threads + threads_per_warp - 1) / threads_per_warp;
  cost.registers = round_up(registers_per_thread, register_allocation_unit) * threads_per_warp * cost.warps;
  cost.shared_bytes =
      round_up(static_shared + dynamic_shared + reserved_shared_bytes_per_block, shared_allocation_unit);
  return cost;
}

uint32_t blocks_that_fit(const BlockCost& cost) {
  Multiprocessor unit{};
  uint32_t blocks = 0;
  while (fits(unit, cost)) {
    ++blocks;
    ++unit.blocks;
    unit.warps += cost.warps;
    unit.registers += cost.registers;
    unit.shared_bytes += cost.shared_bytes;
  }
  return blocks;
}

uint32_t place_blocks(Device& device, const BlockCost& cost, uint64_t wanted, uint8_t (&count)[multiprocessors]) {
  uint32_t placed = 0;
  for (uint32_t level = 0; level < warps_per_multiprocessor && placed < wanted; ++level) {
    for (uint32_t i = 0; i < multiprocessors && placed < wanted; ++i) {
      Multiprocessor& unit = device.multiprocessor[i];
      if (unit.warps == level && fits(unit, cost)) {
        ++unit.blocks;
        unit.warps += cost.warps;
        unit.registers += cost.registers;
        unit.shared_bytes += cost.shared_bytes;
        ++count[i];
        ++placed;
      }
    }
  }
  return placed;
}

void release_blocks(Device& device, const BlockCost& cost, const uint8_t (&count)[multiprocessors]) {
  for (uint32_t i = 0; i < multiprocessors; ++i) {
    Multiprocessor& unit = device.multiprocessor[i];
    unit.blocks -= count[i];
    unit.warps -= count[i] * cost.warps;
    unit.registers -= count[i] * cost.registers;
    unit.shared_bytes -= count[i] * cost.shared_bytes;
  }
}

}  // namespace simcuda
