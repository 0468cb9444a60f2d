#include "questions/regression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace kvet::questions {
namespace {

TEST(Regression, ExactRowsGiveTheExactAnswer) {
  NonNegativeLeastSquares squares{3};
  std::mt19937 random{3};
  std::uniform_real_distribution<double> uniform{0, 1};
  for (int i = 0; i < 50; ++i) {
    const double a = uniform(random), b = uniform(random), c = uniform(random);
    squares.add({{0, a}, {1, b}, {2, c}}, 2 * a + 0 * b + 5 * c);
  }
  const auto solution = squares.solve();
  ASSERT_TRUE(solution);
  EXPECT_NEAR(solution->b[0], 2, 1e-6);
  EXPECT_NEAR(solution->b[1], 0, 1e-6);
  EXPECT_NEAR(solution->b[2], 5, 1e-6);
}

// y = −x₁ + x₂ over orthogonal columns: without the bound −1 and 1, with it 0 and 1.
TEST(Regression, StaysNotNegative) {
  NonNegativeLeastSquares squares{2};
  for (int i = 0; i < 10; ++i) {
    squares.add({{0, 1}}, -1);
    squares.add({{1, 1}}, 1);
  }
  const auto solution = squares.solve();
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->b[0], 0);
  EXPECT_NEAR(solution->b[1], 1, 1e-12);
}

// Noise of known size: the standard error of a mean of n values is σ ÷ √n.
TEST(Regression, StandardError) {
  NonNegativeLeastSquares squares{1};
  std::mt19937 random{9};
  std::normal_distribution<double> noise{0, 3};
  constexpr int n = 20000;
  for (int i = 0; i < n; ++i) {
    squares.add({{0, 1}}, 10 + noise(random));
  }
  const auto solution = squares.solve();
  ASSERT_TRUE(solution);
  EXPECT_NEAR(solution->standard_error[0], 3 / std::sqrt(double{n}), 0.03 * 3 / std::sqrt(double{n}));
  EXPECT_NEAR(solution->b[0], 10, 5 * solution->standard_error[0]);
}

TEST(Regression, ParallelColumnsAreSaid) {
  NonNegativeLeastSquares squares{2};
  for (int i = 1; i < 20; ++i) {
    squares.add({{0, 1.0 * i}, {1, 2.0 * i}}, i);
  }
  EXPECT_EQ(squares.shape().rank, 1u);
  EXPECT_TRUE(std::isinf(squares.shape().condition));
  EXPECT_FALSE(squares.solve());
}

// Columns of length 1 with cosine c have singular values √(1 ± c).
TEST(Regression, Condition) {
  NonNegativeLeastSquares squares{2};
  squares.add({{0, 1}, {1, 1}}, 0);  // (1,0) and (1,1): cosine 1 ÷ √2
  squares.add({{1, 1}}, 0);
  squares.add({{0, 0}, {1, 0}}, 0);
  const double cosine = 1 / std::sqrt(2.0);
  EXPECT_EQ(squares.shape().rank, 2u);
  EXPECT_NEAR(squares.shape().condition, std::sqrt((1 + cosine) / (1 - cosine)), 1e-9);
}

TEST(Regression, Eigenvalues) {
  std::vector<double> values = eigenvalues({2, 1, 0, 1, 2, 0, 0, 0, 5}, 3);  // 1, 3, 5
  std::ranges::sort(values);
  EXPECT_NEAR(values[0], 1, 1e-12);
  EXPECT_NEAR(values[1], 3, 1e-12);
  EXPECT_NEAR(values[2], 5, 1e-12);
}

}  // namespace
}  // namespace kvet::questions
