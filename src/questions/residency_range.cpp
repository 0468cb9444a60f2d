#include "questions/residency_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvet::questions {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double tiny = 1e-11;
constexpr size_t most_pivots = 64;  // a handful is normal with at most four rows

}  // namespace

double early_exit_doubt(const ShapeVector& vector) {
  return vector.alive < 1 ? spread_tolerance * std::max(least_alive_error, vector.alive_spread) : 0;
}

bool SampleRange::prepare(std::span<const Unknown> unknowns, const Readings& readings) {
  size_ = unknowns.size();
  rows_ = 0;
  coefficient_.assign(most_rows * size_, 0);
  low_.resize(size_);
  high_.resize(size_);
  bool vectors = true;
  for (size_t k = 0; k < size_; ++k) {
    low_[k] = unknowns[k].low;
    high_[k] = unknowns[k].high;
    vectors = vectors && unknowns[k].vector->known;
  }
  auto add = [&](double low, double high, auto of) {
    for (size_t k = 0; k < size_; ++k) {
      coefficient_[rows_ * size_ + k] = of(*unknowns[k].vector);
    }
    row_[rows_++] = {low, high};
  };
  auto least_of = [](double reading) { return reading * (1 - range_tolerance) - 10 * reading_floor; };
  auto most_of = [](double reading) { return reading * (1 + range_tolerance) + 10 * reading_floor; };
  add(least_of(readings.warps), infinite,
      [](const ShapeVector& vector) { return std::min(1.0, vector.alive + early_exit_doubt(vector)); });
  add(-infinite, most_of(readings.warps),
      [](const ShapeVector& vector) { return std::max(0.0, vector.alive - early_exit_doubt(vector)); });
  if (vectors && readings.registers) {
    add(least_of(*readings.registers), most_of(*readings.registers),
        [](const ShapeVector& vector) { return vector.registers; });
  }
  if (vectors && readings.shared) {
    add(least_of(*readings.shared), infinite, [](const ShapeVector& vector) { return vector.shared; });
    add(-infinite, most_of(*readings.shared),
        [](const ShapeVector& vector) { return vector.small_shared ? 0.0 : vector.shared; });
  }
  std::vector<double> nothing(size_);
  return least(nothing).has_value();
}

ShareRange SampleRange::of(std::span<const double> weight) {
  cost_.assign(weight.begin(), weight.end());
  const auto low = least(cost_);
  for (double& each : cost_) {
    each = -each;
  }
  const auto high = least(cost_);
  double box_low = 0, box_high = 0;
  for (size_t k = 0; k < size_; ++k) {
    box_low += weight[k] * low_[k];
    box_high += weight[k] * high_[k];
  }
  return {low.value_or(box_low), high ? -*high : box_high};
}

// min cost·y over the box with each row's value in [low, high]: the dual simplex method for bounded variables. The rows' values
// are variables too; at the start they are the basis and each y is at the bound that its cost prefers, which is dual
// feasible, so that no first phase is needed. table_ holds, for each row, the basic variable as a combination of the others:
// basic_i = Σ_j table_ij · nonbasic_j, where nonbasic variables sit at a bound.
std::optional<double> SampleRange::least(std::span<const double> cost) {
  const size_t n = size_, m = rows_;
  // Variables 0…n−1 are y, n…n+m−1 the rows' values. Nonbasic position j holds variable basis_[m + j].
  table_.assign(coefficient_.begin(), coefficient_.begin() + static_cast<std::ptrdiff_t>(m * n));
  reduced_.assign(cost.begin(), cost.end());
  basis_.resize(m + n);
  at_.resize(n);
  auto low = [&](size_t variable) { return variable < n ? low_[variable] : row_[variable - n].low; };
  auto high = [&](size_t variable) { return variable < n ? high_[variable] : row_[variable - n].high; };
  for (size_t i = 0; i < m; ++i) {
    basis_[i] = n + i;
  }
  for (size_t j = 0; j < n; ++j) {
    basis_[m + j] = j;
    at_[j] = reduced_[j] >= 0 ? low_[j] : high_[j];
  }
  for (size_t pivot = 0; pivot < most_pivots; ++pivot) {
    size_t row = m;
    double worst = 1e-9, target = 0;
    bool must_grow = false;
    for (size_t i = 0; i < m; ++i) {
      double value = 0;
      for (size_t j = 0; j < n; ++j) {
        value += table_[i * n + j] * at_[j];
      }
      if (low(basis_[i]) - value > worst) {
        worst = low(basis_[i]) - value;
        row = i;
        must_grow = true;
        target = low(basis_[i]);
      }
      if (value - high(basis_[i]) > worst) {
        worst = value - high(basis_[i]);
        row = i;
        must_grow = false;
        target = high(basis_[i]);
      }
    }
    if (row == m) {
      double sum = 0;
      for (size_t j = 0; j < n; ++j) {
        sum += reduced_[j] * at_[j];
      }
      return sum;
    }
    size_t enter = n;
    double least_ratio = infinite, largest = 0;
    for (size_t j = 0; j < n; ++j) {
      const double slope = table_[row * n + j];
      const size_t variable = basis_[m + j];
      if (std::abs(slope) < tiny || !(high(variable) > low(variable))) {
        continue;
      }
      const bool at_low = at_[j] == low(variable);
      // Moving away from its bound must move the row the right way.
      if ((slope > 0) != (at_low == must_grow)) {
        continue;
      }
      const double ratio = std::abs(reduced_[j] / slope);
      if (ratio < least_ratio - tiny || (ratio < least_ratio + tiny && std::abs(slope) > largest)) {
        least_ratio = ratio;
        largest = std::abs(slope);
        enter = j;
      }
    }
    if (enter == n) {
      return std::nullopt;  // the row cannot be met
    }
    // Exchange: nonbasic `enter` is expressed by the row's variable, and put into all other rows.
    const double slope = table_[row * n + enter];
    for (size_t j = 0; j < n; ++j) {
      table_[row * n + j] = j == enter ? 1 / slope : -table_[row * n + j] / slope;
    }
    auto substitute = [&](double* line) {
      const double factor = line[enter];
      if (factor == 0) {
        return;
      }
      for (size_t j = 0; j < n; ++j) {
        line[j] = (j == enter ? 0 : line[j]) + factor * table_[row * n + j];
      }
    };
    for (size_t i = 0; i < m; ++i) {
      if (i != row) {
        substitute(&table_[i * n]);
      }
    }
    substitute(reduced_.data());
    std::swap(basis_[row], basis_[m + enter]);
    at_[enter] = target;
  }
  return std::nullopt;
}

}  // namespace kvet::questions
