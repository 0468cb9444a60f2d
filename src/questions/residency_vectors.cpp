#include "questions/residency_vectors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvet::questions {
namespace {

// Blocks that an SM has room for at the largest carve-out: a sibling may bring a larger one than the driver chose for this launch
// alone. How registers are split between partitions, and clusters, can only make it fewer.
double most(const SmLimits& limits, const BlockResources& block) {
  uint64_t blocks = std::min<uint64_t>(limits.blocks, limits.warps / block.warps);
  if (block.registers() > 0) {
    blocks = std::min<uint64_t>(blocks, limits.registers / block.registers());
  }
  if (block.shared_bytes > 0) {
    blocks = std::min<uint64_t>(blocks, limits.shared_bytes / block.shared_bytes);
  }
  // It ran, so one fits: else what is known of this device is wrong, and nothing follows from it.
  return blocks > 0 ? static_cast<double>(blocks) : static_cast<double>(limits.warps) / block.warps;
}

}  // namespace

ShapeVectors::ShapeVectors(const Capture& capture, const SmLimits& limits, double multiprocessors)
    : capture_(capture),
      limits_(limits),
      multiprocessors_(multiprocessors),
      slots_(limits.warps * multiprocessors),
      vectors_(capture.shapes.size()) {}

ShapeVector ShapeVectors::compute(const KernelShape& shape) const {
  ShapeVector vector;
  vector.grid = std::numeric_limits<double>::infinity();
  vector.blocks = std::numeric_limits<double>::infinity();
  const BlockResources block = block_resources(limits_, shape);
  if (block.warps == 0) {
    return vector;  // its block size is unknown: some imported files
  }
  const double warps = static_cast<double>(block.warps) / limits_.warps;
  vector.known = true;
  vector.warps_per_block = block.warps;
  vector.registers = static_cast<double>(block.registers()) / limits_.registers / warps;
  vector.shared = static_cast<double>(block.shared_bytes) / limits_.shared_bytes / warps;
  vector.small_shared = uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes < trusted_shared_bytes;
  vector.block = warps / multiprocessors_;
  vector.most = most(limits_, block) * warps;
  const double blocks = static_cast<double>(shape.grid[0]) * shape.grid[1] * shape.grid[2];
  if (blocks > 0) {
    vector.blocks = blocks;
    vector.grid = blocks * vector.block;
  }
  return vector;
}

const ShapeVector& ShapeVectors::of(ShapeId shape) {
  std::optional<ShapeVector>& vector = vectors_[shape.value];
  if (!vector) {
    vector = compute(capture_.shapes[shape.value]);
  }
  return *vector;
}

void ShapeVectors::set_alive(ShapeId shape, double alive, double spread) {
  static_cast<void>(of(shape));
  vectors_[shape.value]->alive = alive;
  vectors_[shape.value]->alive_spread = spread;
}

std::optional<Readings> ShapeVectors::readings(const Sample& sample) const {
  if (!sample.warp_cycles || !sample.cycles_elapsed || !(*sample.cycles_elapsed > 0)) {
    return std::nullopt;
  }
  const double cycles = *sample.cycles_elapsed * multiprocessors_;
  auto share = [&](const std::optional<double>& sum, double of) -> std::optional<double> {
    // The numbers come from a file: what no device can hold was not read.
    if (!sum || !(*sum >= 0) || !(*sum / cycles / of <= 1.05)) {
      return std::nullopt;
    }
    return *sum / cycles / of;
  };
  const auto warps = share(sample.warp_cycles, limits_.warps);
  if (!warps) {
    return std::nullopt;
  }
  return Readings{*warps, share(sample.register_cycles, limits_.registers),
                  share(sample.shared_byte_cycles, limits_.shared_bytes)};
}

}  // namespace kvet::questions
