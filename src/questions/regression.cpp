#include "questions/regression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kvet::questions {

bool solve_positive_definite(std::vector<double> a, std::vector<double>& b, size_t size) {
  for (size_t j = 0; j < size; ++j) {
    double diagonal = a[j * size + j];
    const double before = diagonal;
    for (size_t k = 0; k < j; ++k) {
      diagonal -= a[j * size + k] * a[j * size + k];
    }
    if (!(diagonal > 1e-12 * before) || !(diagonal > 0)) {
      return false;
    }
    a[j * size + j] = std::sqrt(diagonal);
    for (size_t i = j + 1; i < size; ++i) {
      double sum = a[i * size + j];
      for (size_t k = 0; k < j; ++k) {
        sum -= a[i * size + k] * a[j * size + k];
      }
      a[i * size + j] = sum / a[j * size + j];
    }
  }
  for (size_t i = 0; i < size; ++i) {
    for (size_t k = 0; k < i; ++k) {
      b[i] -= a[i * size + k] * b[k];
    }
    b[i] /= a[i * size + i];
  }
  for (size_t i = size; i-- > 0;) {
    for (size_t k = i + 1; k < size; ++k) {
      b[i] -= a[k * size + i] * b[k];
    }
    b[i] /= a[i * size + i];
  }
  return true;
}

std::vector<double> eigenvalues(std::vector<double> a, size_t size) {
  // A symmetric matrix of 16 needs about 6 sweeps; 60 is out of reach.
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0, all = 0;
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = 0; j < size; ++j) {
        all += a[i * size + j] * a[i * size + j];
        off += i == j ? 0 : a[i * size + j] * a[i * size + j];
      }
    }
    if (!(off > 1e-28 * all)) {
      break;
    }
    for (size_t p = 0; p < size; ++p) {
      for (size_t q = p + 1; q < size; ++q) {
        const double apq = a[p * size + q];
        if (apq == 0) {
          continue;
        }
        const double theta = (a[q * size + q] - a[p * size + p]) / (2 * apq);
        const double t = (theta >= 0 ? 1.0 : -1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (size_t k = 0; k < size; ++k) {
          const double akp = a[k * size + p], akq = a[k * size + q];
          a[k * size + p] = c * akp - s * akq;
          a[k * size + q] = s * akp + c * akq;
        }
        for (size_t k = 0; k < size; ++k) {
          const double apk = a[p * size + k], aqk = a[q * size + k];
          a[p * size + k] = c * apk - s * aqk;
          a[q * size + k] = s * apk + c * aqk;
        }
      }
    }
  }
  std::vector<double> values(size);
  for (size_t i = 0; i < size; ++i) {
    values[i] = a[i * size + i];
  }
  return values;
}

NonNegativeLeastSquares::NonNegativeLeastSquares(size_t unknowns)
    : size_(unknowns), normal_(unknowns * unknowns), right_(unknowns) {}

void NonNegativeLeastSquares::add(const std::vector<std::pair<size_t, double>>& row, double y) {
  for (const auto& [i, xi] : row) {
    for (const auto& [j, xj] : row) {
      normal_[i * size_ + j] += xi * xj;
    }
    right_[i] += xi * y;
  }
  yy_ += y * y;
  ++rows_;
}

void NonNegativeLeastSquares::add(const NonNegativeLeastSquares& other) {
  for (size_t i = 0; i < normal_.size(); ++i) {
    normal_[i] += other.normal_[i];
  }
  for (size_t i = 0; i < size_; ++i) {
    right_[i] += other.right_[i];
  }
  yy_ += other.yy_;
  rows_ += other.rows_;
}

std::optional<NonNegativeLeastSquares::Solution> NonNegativeLeastSquares::solve() const {
  if (rows_ <= size_) {
    return std::nullopt;
  }
  for (size_t i = 0; i < size_; ++i) {
    if (!(at(i, i) > 0)) {
      return std::nullopt;
    }
  }
  std::vector<bool> passive(size_);
  std::vector<double> b(size_);
  auto solve_passive = [&](std::vector<double>& x) {
    std::vector<size_t> index;
    for (size_t i = 0; i < size_; ++i) {
      if (passive[i]) {
        index.push_back(i);
      }
    }
    std::vector<double> a(index.size() * index.size()), r(index.size());
    for (size_t i = 0; i < index.size(); ++i) {
      r[i] = right_[index[i]];
      for (size_t j = 0; j < index.size(); ++j) {
        a[i * index.size() + j] = at(index[i], index[j]);
      }
    }
    if (!solve_positive_definite(std::move(a), r, index.size())) {
      return false;
    }
    std::ranges::fill(x, 0);
    for (size_t i = 0; i < index.size(); ++i) {
      x[index[i]] = r[i];
    }
    return true;
  };
  // Each round adds one unknown; it may take some out again. 3·n rounds is Lawson and Hanson's own bound.
  for (size_t round = 0; round < 3 * size_ + 10; ++round) {
    double best = 0;
    size_t chosen = size_;
    for (size_t i = 0; i < size_; ++i) {
      if (!passive[i]) {
        double gradient = right_[i];
        for (size_t j = 0; j < size_; ++j) {
          gradient -= at(i, j) * b[j];
        }
        const double relative = gradient / std::sqrt(at(i, i));
        if (relative > best && relative > 1e-9 * std::sqrt(yy_)) {
          best = relative;
          chosen = i;
        }
      }
    }
    if (chosen == size_) {
      break;
    }
    passive[chosen] = true;
    std::vector<double> x(size_);
    while (true) {
      if (!solve_passive(x)) {
        return std::nullopt;
      }
      double step = 1;
      for (size_t i = 0; i < size_; ++i) {
        if (passive[i] && x[i] <= 0 && b[i] - x[i] > 0) {
          step = std::min(step, b[i] / (b[i] - x[i]));
        }
      }
      if (step >= 1) {
        b = x;
        break;
      }
      for (size_t i = 0; i < size_; ++i) {
        b[i] += step * (x[i] - b[i]);
        if (passive[i] && x[i] <= 0 && b[i] <= 1e-12 * std::abs(x[i]) + 1e-300) {
          passive[i] = false;
          b[i] = 0;
        }
      }
    }
  }
  Solution solution{b, std::vector<double>(size_), rows_};
  double residual = yy_;
  for (size_t i = 0; i < size_; ++i) {
    residual -= 2 * b[i] * right_[i];
    for (size_t j = 0; j < size_; ++j) {
      residual += b[i] * at(i, j) * b[j];
    }
  }
  const double variance = std::max(residual, 0.0) / static_cast<double>(rows_ - size_);
  for (size_t i = 0; i < size_; ++i) {
    // The diagonal of the inverse, over all unknowns: those held at 0 make the others no surer.
    std::vector<double> unit(size_);
    unit[i] = 1;
    if (!solve_positive_definite(normal_, unit, size_)) {
      return std::nullopt;
    }
    solution.standard_error[i] = std::sqrt(std::max(variance * unit[i], 0.0));
  }
  return solution;
}

NonNegativeLeastSquares::Shape NonNegativeLeastSquares::shape() const {
  std::vector<size_t> all(size_);
  std::iota(all.begin(), all.end(), size_t{0});
  return shape(all);
}

NonNegativeLeastSquares::Shape NonNegativeLeastSquares::shape(const std::vector<size_t>& unknowns) const {
  const size_t size = unknowns.size();
  std::vector<double> scaled(size * size);
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) {
      const double length = std::sqrt(at(unknowns[i], unknowns[i]) * at(unknowns[j], unknowns[j]));
      scaled[i * size + j] = length > 0 ? at(unknowns[i], unknowns[j]) / length : 0;
    }
  }
  const std::vector<double> values = eigenvalues(std::move(scaled), size);
  const double largest = values.empty() ? 0 : *std::ranges::max_element(values);
  Shape shape;
  double smallest = largest;
  for (double value : values) {
    shape.rank += value > 1e-10 * largest ? 1 : 0;
    smallest = std::min(smallest, value);
  }
  shape.condition =
      shape.rank == size && smallest > 0 ? std::sqrt(largest / smallest) : std::numeric_limits<double>::infinity();
  return shape;
}

}  // namespace kvet::questions
