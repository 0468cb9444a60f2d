// What a launch shape takes from the device, per warp and at most: the columns of the linear problem of residency.h.
#pragma once

#include <optional>
#include <vector>

#include "model/capture.h"
#include "questions/occupancy_limits.h"

namespace kvet::questions {

// Shares are of the whole device: of all warp slots, all registers, all shared memory.
struct ShapeVector {
  bool known = false;         // the launch's block size is known
  double registers = 0;       // share of the registers ÷ share of the warp slots
  double shared = 0;          // likewise
  bool small_shared = false;  // so little that its reading cannot be trusted (many small blocks per SM are under-read)
  double block = 0;  // warp slots of one block
  double most = 1;  // warp slots of all blocks that fit at once, on an otherwise empty device
  double grid = 0;  // warp slots of all its blocks; infinite where the grid is unknown
  double blocks = 0;  // the grid itself
  double warps_per_block = 0;
  double alive = 1;  // resident warps ÷ warps of resident blocks
  double alive_spread = 0;  // standard deviation of that from sample to sample: it depends on the blocks' age
};

// Measured on an H200: exact for blocks with tens of KiB, too little with 8 small blocks per SM.
constexpr uint32_t trusted_shared_bytes = 4096;

// Shares of a sample. Registers and shared memory are empty where they were not read; the whole is empty without warps.
struct Readings {
  double warps = 0;
  std::optional<double> registers, shared;
};

class ShapeVectors {
 public:
  ShapeVectors(const Capture& capture, const SmLimits& limits, double multiprocessors);

  const ShapeVector& of(ShapeId shape);  // computed on the first call
  void set_alive(ShapeId shape, double alive, double spread);

  [[nodiscard]] std::optional<Readings> readings(const Sample& sample) const;
  [[nodiscard]] double slots() const { return slots_; }

 private:
  [[nodiscard]] ShapeVector compute(const KernelShape& shape) const;

  const Capture& capture_;
  SmLimits limits_;
  double multiprocessors_, slots_;
  std::vector<std::optional<ShapeVector>> vectors_;
};

}  // namespace kvet::questions
