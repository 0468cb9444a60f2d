// Non-negative least squares for a handful of unknowns, from sums that are added up row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace kvet::questions {

// minimise Σ (y − Σ_k x_k·b_k)² with b ≥ 0. Rows are sparse; memory is one matrix of unknowns × unknowns.
class NonNegativeLeastSquares {
 public:
  explicit NonNegativeLeastSquares(size_t unknowns);

  void add(const std::vector<std::pair<size_t, double>>& row, double y);
  // The rows of another one, of as many unknowns.
  void add(const NonNegativeLeastSquares& other);
  [[nodiscard]] uint64_t rows() const { return rows_; }

  struct Solution {
    std::vector<double> b;
    std::vector<double> standard_error;  // as without the bound at 0
    uint64_t rows = 0;
  };
  // Active-set method of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23) on the normal equations.
  // Empty where the rows do not determine the unknowns.
  [[nodiscard]] std::optional<Solution> solve() const;

  // Of the matrix of the normal equations, columns scaled to length 1: how many directions the rows determine, and the
  // ratio of the largest to the smallest singular value of the rows (infinite where the rank is not full).
  struct Shape {
    size_t rank = 0;
    double condition = 0;
  };
  [[nodiscard]] Shape shape() const;
  // The same of some of the unknowns, as if there were no others.
  [[nodiscard]] Shape shape(const std::vector<size_t>& unknowns) const;

 private:
  [[nodiscard]] double at(size_t i, size_t j) const { return normal_[i * size_ + j]; }
  size_t size_;
  std::vector<double> normal_;  // XᵀX
  std::vector<double> right_;  // Xᵀy
  double yy_ = 0;
  uint64_t rows_ = 0;
};

// Solves the symmetric positive definite system a·x = b of that size by Cholesky's method; false where it is singular.
bool solve_positive_definite(std::vector<double> a, std::vector<double>& b, size_t size);

// Eigenvalues of a symmetric matrix, in any order (Jacobi's method).
std::vector<double> eigenvalues(std::vector<double> a, size_t size);

}  // namespace kvet::questions
