// One sample of residency.h as a linear problem: the best linear estimate in a box, and how far the data determine it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "questions/residency_vectors.h"

namespace kvet::questions {

// One launch shape in one sample; y is the share of all warp slots that its blocks hold, mean over the sample.
struct Unknown {
  const ShapeVector* vector = nullptr;
  double low = 0, high = 0;  // the box of y
  double prior = 0;          // where y is expected, in the box
  bool own = false;          // belongs to K
};

// Relative standard deviation of each reading. An H200 read sums of known blocks exactly (shared/platform-facts: 8448 of 8448
// warps); this leaves room for rounding, for clocks of units that differ a little, and for other chips.
constexpr double reading_error = 0.003;
// Absolute: 1/20,000 of the device, a quarter of a warp per SM at most.
constexpr double reading_floor = 0.00005;

// Of a shape's warps that are alive, where they exit early: at least so much from sample to sample; and how many times the
// spread seen alone is to be doubted beside siblings.
constexpr double least_alive_error = 0.02;
constexpr double alive_doubt = 2;

struct Estimated {
  double value = 0;
  double prior_error = 0;  // standard deviation of what the data leave open
  double reading_error = 0;  // standard deviation by the readings' errors
};

class SampleSystem {
 public:
  // Solves; results are valid until the next call. Unknowns without a known vector make registers and shared memory useless.
  void solve(std::span<const Unknown> unknowns, const Readings& readings);

  [[nodiscard]] const std::vector<double>& values() const { return value_; }  // y by unknown
  // Of a_k·y_k (warps, not blocks) of one unknown, or of all with `own`.
  [[nodiscard]] Estimated of(size_t unknown) const;
  [[nodiscard]] Estimated own() const;

 private:
  struct Row {
    double reading = 0, variance = 0;
    double common = 0;  // the part of the variance that is the same in every sample
  };
  void make_rows(std::span<const Unknown> unknowns, const Readings& readings);
  void update();  // the linear estimate with those not fixed
  bool keep_in_box(std::span<const Unknown> unknowns);
  [[nodiscard]] double coefficient(size_t row, size_t unknown) const { return coefficient_[3 * unknown + row]; }
  template <class Weight>
  [[nodiscard]] Estimated functional(Weight weight) const;

  size_t size_ = 0, rows_ = 0;
  std::vector<double> coefficient_, value_, start_, variance_, open_, alive_;
  std::vector<bool> own_;
  Row row_[3];
  double inverse_[3][3] = {}, open_inverse_[3][3] = {};
};

}  // namespace kvet::questions
