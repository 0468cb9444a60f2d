// Whose warps are they? Every resident block of a kernel holds a known vector of resources: warps, registers, shared memory.
// Where kernels run side by side, three sums are measured, and the vectors tell how many blocks of each make them up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvet::questions {

// Shares of what an SM (or the whole device) has, 0 to 1. `shared_known`: false leaves shared memory out.
struct ResourceShares {
  double warps = 0, registers = 0, shared = 0;
};

struct SplitKernel {
  ResourceShares per_block;  // of one resident block
  bool own = false;  // belongs to K
};

// How well a set of kernels can be told apart.
struct SplitSystem {
  size_t unknowns = 0;  // kernels of different vectors; parallel ones of the same side count as one
  size_t equations = 0;
  size_t rank = 0;
  double condition = 0;  // infinite below full rank
  bool resolved = false;  // full rank, and the condition number is at most 30
  bool parallel = false;  // K's vector is parallel to a sibling's
};

// Solves for the part of the measured warps that K's blocks hold.
class FingerprintSplit {
 public:
  // `shared_known`: whether the reading of shared memory can be trusted for these kernels.
  FingerprintSplit(const std::vector<SplitKernel>& kernels, bool shared_known);

  [[nodiscard]] const SplitSystem& system() const { return system_; }

  struct Share {
    double own = 0;  // K's part of the warps, 0 to 1; the parts of all add up to 1
    double error = 0;  // what 1% of error in each reading does to it
  };
  // Non-negative least squares. Call only where system().resolved.
  [[nodiscard]] Share solve(const ResourceShares& measured) const;

 private:
  struct Column {
    double value[3];
    bool own;
  };
  std::vector<Column> columns_;
  SplitSystem system_;
};

// The range that K's part of the measured warps can have, whatever the vectors: no kernel holds more than each measured sum and
// each residency limit allows (`most_warps`: share of all warp slots that its blocks can hold at most).
struct ShareRange {
  double low = 0, high = 0;  // of the warp slots
};
struct BoundedKernel {
  SplitKernel kernel;
  double most_warps = 1;
};
ShareRange share_range(const std::vector<BoundedKernel>& kernels, const ResourceShares& measured, bool shared_known);

}  // namespace kvet::questions
