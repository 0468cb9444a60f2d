// The least and the most warps that a kernel can have had in one sample: a linear program over the readings' tolerance and the
// boxes of residency.h, solved exactly.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "questions/residency_system.h"

namespace kvet::questions {

// Three and a third standard deviations of reading_error: with three readings, one in 400 samples lies outside.
constexpr double range_tolerance = 0.01;
constexpr double spread_tolerance = 3;  // standard deviations of ShapeVector::alive_spread

// By how much the part of a shape's warps that is alive may differ from what it is alone; 0 where none exits early.
double early_exit_doubt(const ShapeVector& vector);

struct ShareRange {
  double low = 0, high = 0;
};

class SampleRange {
 public:
  // False where no y in its box meets the readings: something ran that no record explains, or warps exited early.
  bool prepare(std::span<const Unknown> unknowns, const Readings& readings);
  // Of Σ weight_k·y_k; `weight` by unknown. After a successful prepare().
  [[nodiscard]] ShareRange of(std::span<const double> weight);

 private:
  static constexpr size_t most_rows = 5;
  struct Row {
    double low, high;
  };
  std::optional<double> least(std::span<const double> cost);

  size_t size_ = 0, rows_ = 0;
  std::array<Row, most_rows> row_{};
  std::vector<double> coefficient_;  // rows × unknowns
  std::vector<double> low_, high_;  // boxes
  std::vector<double> table_, cost_, reduced_, at_;
  std::vector<size_t> basis_;
};

}  // namespace kvet::questions
