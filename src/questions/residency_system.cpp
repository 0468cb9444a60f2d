#include "questions/residency_system.h"

#include <algorithm>
#include <cmath>

namespace kvet::questions {
namespace {

// Variance of a uniform distribution of width 1.
constexpr double uniform_variance = 1.0 / 12;

double square(double x) { return x * x; }

double deviation(double reading) { return reading_error * reading + reading_floor; }

// Inverts the symmetric positive definite matrix of the first `n` rows, by Cholesky's decomposition.
void invert(double (&matrix)[3][3], size_t n) {
  double lower[3][3] = {}, inverse[3][3] = {};
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = j; i < n; ++i) {
      double sum = matrix[i][j];
      for (size_t k = 0; k < j; ++k) {
        sum -= lower[i][k] * lower[j][k];
      }
      lower[i][j] = i == j ? std::sqrt(std::max(sum, 1e-300)) : sum / lower[j][j];
    }
  }
  for (size_t column = 0; column < n; ++column) {
    double x[3] = {};
    for (size_t i = 0; i < n; ++i) {
      double sum = i == column ? 1 : 0;
      for (size_t k = 0; k < i; ++k) {
        sum -= lower[i][k] * x[k];
      }
      x[i] = sum / lower[i][i];
    }
    for (size_t i = n; i-- > 0;) {
      double sum = x[i];
      for (size_t k = i + 1; k < n; ++k) {
        sum -= lower[k][i] * x[k];
      }
      x[i] = sum / lower[i][i];
      inverse[i][column] = x[i];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      matrix[i][j] = inverse[i][j];
    }
  }
}

}  // namespace

void SampleSystem::make_rows(std::span<const Unknown> unknowns, const Readings& readings) {
  const bool vectors = std::ranges::all_of(unknowns, [](const Unknown& unknown) { return unknown.vector->known; });
  rows_ = 0;
  auto add = [&](double reading, double noise, double common, auto of) {
    for (size_t k = 0; k < size_; ++k) {
      coefficient_[3 * k + rows_] = of(*unknowns[k].vector);
    }
    row_[rows_++] = {reading, noise + common, common};
  };
  // How many of the blocks' warps are still alive depends on the blocks' age, and ages beside siblings may differ from those alone.
  double noise = square(deviation(readings.warps)), ages = 0;
  for (size_t k = 0; k < size_; ++k) {
    if (unknowns[k].vector->alive < 1) {
      noise += square(least_alive_error * value_[k]);
      ages += square(alive_doubt * unknowns[k].vector->alive_spread * value_[k]);
    }
  }
  add(readings.warps, noise, ages, [](const ShapeVector& vector) { return vector.alive; });
  if (vectors && readings.registers) {
    add(*readings.registers, square(deviation(*readings.registers)), 0,
        [](const ShapeVector& vector) { return vector.registers; });
  }
  if (vectors && readings.shared) {
    // Of the small blocks' shared memory anything from none to all of it is read: half of it, and a uniform error.
    double common = 0;
    for (size_t k = 0; k < size_; ++k) {
      if (unknowns[k].vector->small_shared) {
        common += uniform_variance * square(unknowns[k].vector->shared * value_[k]);
      }
    }
    add(*readings.shared, square(deviation(*readings.shared)), common,
        [](const ShapeVector& vector) { return vector.small_shared ? 0.5 * vector.shared : vector.shared; });
  }
}

void SampleSystem::update() {
  double matrix[3][3] = {}, left[3];
  for (size_t i = 0; i < rows_; ++i) {
    left[i] = row_[i].reading;
    matrix[i][i] = row_[i].variance;
  }
  for (size_t k = 0; k < size_; ++k) {
    for (size_t i = 0; i < rows_; ++i) {
      left[i] -= coefficient(i, k) * start_[k];
      const double scaled = variance_[k] * coefficient(i, k);
      for (size_t j = 0; j < rows_; ++j) {
        matrix[i][j] += scaled * coefficient(j, k);
      }
    }
  }
  invert(matrix, rows_);
  double weight[3] = {};
  for (size_t i = 0; i < rows_; ++i) {
    for (size_t j = 0; j < rows_; ++j) {
      inverse_[i][j] = matrix[i][j];
      weight[i] += matrix[i][j] * left[j];
    }
  }
  for (size_t k = 0; k < size_; ++k) {
    double step = 0;
    for (size_t i = 0; i < rows_; ++i) {
      step += coefficient(i, k) * weight[i];
    }
    value_[k] = start_[k] + variance_[k] * step;
  }
}

bool SampleSystem::keep_in_box(std::span<const Unknown> unknowns) {
  // The one that is farthest out, in parts of its box, goes to its bound and stays there.
  size_t worst = size_;
  double farthest = 1e-9;
  for (size_t k = 0; k < size_; ++k) {
    if (variance_[k] > 0) {
      const double width = unknowns[k].high - unknowns[k].low;
      const double out = std::max(unknowns[k].low - value_[k], value_[k] - unknowns[k].high) / width;
      if (out > farthest) {
        farthest = out;
        worst = k;
      }
    }
  }
  if (worst == size_) {
    return true;
  }
  start_[worst] = std::clamp(value_[worst], unknowns[worst].low, unknowns[worst].high);
  variance_[worst] = 0;
  return false;
}

void SampleSystem::solve(std::span<const Unknown> unknowns, const Readings& readings) {
  size_ = unknowns.size();
  coefficient_.assign(3 * size_, 0);
  value_.resize(size_);
  start_.resize(size_);
  variance_.resize(size_);
  alive_.resize(size_);
  own_.resize(size_);
  for (size_t k = 0; k < size_; ++k) {
    const Unknown& unknown = unknowns[k];
    start_[k] = value_[k] = std::clamp(unknown.prior, unknown.low, unknown.high);
    variance_[k] = uniform_variance * square(unknown.high - unknown.low);
    alive_[k] = unknown.vector->alive;
    own_[k] = unknown.own;
  }
  make_rows(unknowns, readings);
  update();
  // How much of the small blocks' shared memory there is to doubt depends on how many there are.
  make_rows(unknowns, readings);
  update();
  // How far the data determine the answer does not change where the estimate runs into a bound: what is open may lie inside.
  open_ = variance_;
  std::ranges::copy(&inverse_[0][0], &inverse_[0][0] + 9, &open_inverse_[0][0]);
  for (size_t round = 0; round < size_ && !keep_in_box(unknowns); ++round) {
    update();
  }
  for (size_t k = 0; k < size_; ++k) {
    value_[k] = std::clamp(value_[k], unknowns[k].low, unknowns[k].high);
  }
}

template <class Weight>
Estimated SampleSystem::functional(Weight weight) const {
  Estimated result;
  double cross[3] = {}, gain[3] = {};
  for (size_t k = 0; k < size_; ++k) {
    result.value += weight(k) * value_[k];
    for (size_t i = 0; i < rows_; ++i) {
      cross[i] += coefficient(i, k) * open_[k] * weight(k);
    }
  }
  double reading = 0, prior = 0;
  for (size_t i = 0; i < rows_; ++i) {
    for (size_t j = 0; j < rows_; ++j) {
      gain[i] += open_inverse_[i][j] * cross[j];
    }
    reading += square(gain[i]) * (row_[i].variance - row_[i].common);
    prior += square(gain[i]) * row_[i].common;
  }
  for (size_t k = 0; k < size_; ++k) {
    double left = weight(k);
    for (size_t i = 0; i < rows_; ++i) {
      left -= gain[i] * coefficient(i, k);
    }
    prior += square(left) * open_[k];
  }
  result.reading_error = std::sqrt(reading);
  result.prior_error = std::sqrt(prior);
  return result;
}

Estimated SampleSystem::of(size_t unknown) const {
  return functional([&](size_t k) { return k == unknown ? alive_[k] : 0.0; });
}

Estimated SampleSystem::own() const {
  return functional([&](size_t k) { return own_[k] ? alive_[k] : 0.0; });
}

}  // namespace kvet::questions
