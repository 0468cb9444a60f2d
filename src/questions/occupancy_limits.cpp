#include "questions/occupancy_limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kvet::questions {
namespace {

constexpr uint32_t threads_per_warp = 32;

struct Row {
  uint32_t major, minor;
  uint32_t warps, blocks, shared_kib;
};
// CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability": maximum resident warps and blocks per
// SM, shared memory per SM. Registers are 64 Ki per SM in every row.
constexpr std::array<Row, 14> rows{{
    {7, 0, 64, 32, 96},
    {7, 2, 64, 32, 96},
    {7, 5, 32, 16, 64},
    {8, 0, 64, 32, 164},
    {8, 6, 48, 16, 100},
    {8, 7, 48, 16, 164},
    {8, 9, 48, 24, 100},
    {9, 0, 64, 32, 228},
    {10, 0, 64, 32, 228},
    {10, 1, 48, 24, 228},
    {10, 3, 64, 32, 228},
    {11, 0, 48, 24, 228},
    {12, 0, 48, 24, 100},
    {12, 1, 48, 24, 100},
}};

uint64_t rounded_up(uint64_t value, uint64_t step) { return step == 0 ? value : (value + step - 1) / step * step; }

uint64_t product(const std::array<uint32_t, 3>& size) {
  // Saturates: the numbers come from a file.
  const double exact = static_cast<double>(size[0]) * size[1] * size[2];
  return exact > 1e18 ? uint64_t{1'000'000'000'000'000'000} : uint64_t{size[0]} * size[1] * size[2];
}

constexpr uint64_t no_limit = std::numeric_limits<uint64_t>::max();

// The SM's registers are split between its partitions, and a warp takes all of its own from one of them.
uint64_t warps_by_registers(const SmLimits& limits, uint64_t registers, uint64_t per_warp) {
  return per_warp == 0 ? no_limit : registers / limits.partitions / per_warp * limits.partitions;
}

// What the driver configured is what there was, unless it is unknown or holds not even one block.
uint64_t carve_out(const SmLimits& limits, const KernelShape& shape, const BlockResources& block) {
  const bool known = shape.shared_executed_bytes >= block.shared_bytes && shape.shared_executed_bytes > 0;
  return known ? std::min(shape.shared_executed_bytes, limits.shared_bytes) : limits.shared_bytes;
}

}  // namespace

std::string_view name(Limiter limiter) {
  switch (limiter) {
    case Limiter::warps: return "warp slots";
    case Limiter::registers: return "registers";
    case Limiter::shared_memory: return "shared memory";
    case Limiter::block_slots: return "block slots";
    case Limiter::clusters: return "clusters";
    case Limiter::does_not_fit: return "a block that does not fit on an SM";
  }
  return "?";
}

std::optional<SmLimits> sm_limits(const Device& device) {
  const auto row = std::ranges::find_if(
      rows, [&](const Row& r) { return r.major == device.compute_major && r.minor == device.compute_minor; });
  if (row == rows.end()) {
    return std::nullopt;
  }
  auto reported = [](uint32_t value, uint32_t otherwise) { return value != 0 ? value : otherwise; };
  SmLimits limits;
  limits.warps = reported(device.max_warps_per_multiprocessor, row->warps);
  limits.blocks = reported(device.max_blocks_per_multiprocessor, row->blocks);
  limits.registers = reported(device.max_registers_per_multiprocessor, 65536);
  limits.shared_bytes = reported(device.max_shared_bytes_per_multiprocessor, row->shared_kib * 1024);
  // From 8.0 on, shared memory is handed out in steps of 128 bytes and the driver keeps 1 KiB of it per block (Programming
  // Guide, "Shared Memory" of compute capability 8.x); before, in steps of 256 bytes and without a reserve.
  limits.shared_granularity = device.compute_major >= 8 ? 128 : 256;
  limits.shared_reserved = device.compute_major >= 8 ? 1024 : 0;
  return limits;
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

std::optional<Theoretical> theoretical(const SmLimits& limits, const KernelShape& shape, uint32_t sms) {
  const BlockResources block = block_resources(limits, shape);
  if (block.warps == 0 || limits.warps == 0) {
    return std::nullopt;
  }
  const uint64_t by_warps = limits.warps / block.warps;
  const uint64_t by_slots = limits.blocks;
  // The hardware checks a launch as if its warps were spread evenly over the partitions.
  const bool registers_fit =
      uint64_t{block.registers_per_warp} * rounded_up(block.warps, limits.partitions) <= limits.registers;
  const uint64_t register_warps = warps_by_registers(limits, limits.registers, block.registers_per_warp);
  const uint64_t by_registers = !registers_fit               ? 0
                                : register_warps == no_limit ? no_limit
                                                             : register_warps / block.warps;
  const uint64_t by_shared = block.shared_bytes == 0 ? no_limit : carve_out(limits, shape, block) / block.shared_bytes;

  Theoretical result;
  const uint64_t blocks = std::min({by_warps, by_slots, by_registers, by_shared});
  result.blocks_per_sm = static_cast<double>(blocks);
  // Where several bind, the one that a change of the kernel can lift is named first.
  result.limiter = blocks == 0              ? Limiter::does_not_fit
                   : blocks == by_registers ? Limiter::registers
                   : blocks == by_shared    ? Limiter::shared_memory
                   : blocks == by_warps     ? Limiter::warps
                                            : Limiter::block_slots;
  const uint64_t cluster = product(shape.cluster);
  if (cluster > 0 && shape.max_active_clusters > 0 && sms > 0) {
    const double by_clusters = static_cast<double>(shape.max_active_clusters) * static_cast<double>(cluster) / sms;
    if (by_clusters < result.blocks_per_sm) {
      result.blocks_per_sm = by_clusters;
      result.limiter = Limiter::clusters;
    }
  }
  result.occupancy = result.blocks_per_sm * block.warps / limits.warps;
  return result;
}

uint32_t fits_beside(const SmLimits& limits, const KernelShape& shape, const KernelShape& other, uint32_t count) {
  const BlockResources own = block_resources(limits, shape), theirs = block_resources(limits, other);
  if (own.warps == 0) {
    return 0;
  }
  auto left = [count](uint64_t all, uint64_t each) { return all > each * count ? all - each * count : 0; };
  uint64_t fit = left(limits.warps, theirs.warps) / own.warps;
  fit = std::min(fit, left(limits.blocks, 1));
  if (own.registers_per_warp > 0) {
    // Their warps spread evenly over the partitions.
    const uint64_t per_partition =
        rounded_up(uint64_t{theirs.warps} * count, limits.partitions) / limits.partitions * theirs.registers_per_warp;
    const uint64_t partition = limits.registers / limits.partitions;
    const uint64_t free = partition > per_partition ? partition - per_partition : 0;
    fit = std::min(fit, free / own.registers_per_warp * limits.partitions / own.warps);
  }
  if (own.shared_bytes > 0) {
    const uint64_t pool = std::max(carve_out(limits, shape, own), carve_out(limits, other, theirs));
    fit = std::min(fit, left(pool, theirs.shared_bytes) / own.shared_bytes);
  }
  return static_cast<uint32_t>(fit);
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
