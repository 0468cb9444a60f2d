#include "questions/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kvet::questions {
namespace {

// Tables of Student's t, e.g. NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
TEST(Statistics, TQuantiles) {
  EXPECT_NEAR(t_quantile_975(1), 12.706, 5e-4);
  EXPECT_NEAR(t_quantile_975(2), 4.303, 5e-4);
  EXPECT_NEAR(t_quantile_975(3), 3.182, 5e-4);
  EXPECT_NEAR(t_quantile_975(10), 2.228, 5e-4);
  EXPECT_NEAR(t_quantile_975(30), 2.042, 5e-4);
  EXPECT_NEAR(t_quantile_975(100), 1.984, 5e-4);
  EXPECT_NEAR(t_quantile_975(1e5), 1.960, 5e-4);
  EXPECT_NEAR(t_quantile_975(1e9), 1.960, 5e-4);
  EXPECT_TRUE(std::isinf(t_quantile_975(0)));
}

// R = 4 ÷ 6; residuals −1/3 and +1/3, so the standard error is √(2 · 2/9) ÷ 6 = 1/9.
TEST(Statistics, RatioOfSumsByHand) {
  const auto estimate = ratio_of_sums({{1, 2}, {3, 4}});
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(estimate->value, 2.0 / 3, 1e-12);
  EXPECT_NEAR(estimate->standard_error, 1.0 / 9, 1e-12);
  ASSERT_TRUE(estimate->interval);
  EXPECT_NEAR(estimate->interval->high - estimate->value, 12.706 / 9, 1e-3);
  EXPECT_EQ(estimate->clusters, 2u);
  EXPECT_FALSE(ratio_of_sums({{5, 1}})->interval) << "one cluster says nothing about the error";
  EXPECT_FALSE(ratio_of_sums({}));
  EXPECT_FALSE(ratio_of_sums({{1, 0}}));
}

// The interval holds the planted ratio as often as it says: 95% ± 3 standard errors of 3000 trials (1.2 points).
TEST(Statistics, RatioOfSumsCoverage) {
  std::mt19937 random{5};
  std::lognormal_distribution<double> length{0, 0.5};
  std::normal_distribution<double> noise{0, 0.2};
  int inside = 0;
  constexpr int trials = 3000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<Cluster> clusters;
    for (int i = 0; i < 25; ++i) {
      const double denominator = length(random);
      clusters.push_back({denominator * (0.7 + noise(random)), denominator});
    }
    const auto estimate = ratio_of_sums(clusters);
    ASSERT_TRUE(estimate && estimate->interval);
    inside += estimate->interval->low <= 0.7 && 0.7 <= estimate->interval->high ? 1 : 0;
  }
  // Linearisation falls a little short with 25 clusters of very unequal size.
  EXPECT_GT(inside, trials * 0.925);
  EXPECT_LT(inside, trials * 0.965);
}

TEST(Statistics, Quantile) {
  std::vector<double> values{4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
}

}  // namespace
}  // namespace kvet::questions
