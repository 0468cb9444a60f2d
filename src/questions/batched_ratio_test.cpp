#include "questions/batched_ratio.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kvet::questions {
namespace {

// An autoregressive series around 5 whose neighbours correlate by `r`: independent observations would give intervals that are
// too narrow by √((1 + r) ÷ (1 − r)), 4.4 times at r = 0.9.
double coverage(double r, int length) {
  std::mt19937_64 random{7};
  std::normal_distribution<double> normal;
  int inside = 0;
  constexpr int repeats = 600;
  for (int i = 0; i < repeats; ++i) {
    std::vector<Cluster> series;
    double state = normal(random);
    for (int t = 0; t < length; ++t) {
      state = r * state + std::sqrt(1 - r * r) * normal(random);
      const double weight = 1 + (t % 3);
      series.push_back({weight * (5 + state), weight});
    }
    const auto estimate = batched_ratio(series);
    inside += estimate->interval->low <= 5 && 5 <= estimate->interval->high ? 1 : 0;
  }
  return inside / static_cast<double>(repeats);
}

TEST(BatchedRatio, CoversWhetherNeighboursAreAlikeOrNot) {
  EXPECT_NEAR(coverage(0, 1000), 0.95, 0.03);
  EXPECT_NEAR(coverage(0.9, 2000), 0.95, 0.03);
  EXPECT_NEAR(coverage(0.98, 10'000), 0.95, 0.03);
  EXPECT_NEAR(coverage(0, 12), 0.95, 0.04);
}

TEST(BatchedRatio, IsARatioOfSums) {
  const auto estimate = batched_ratio({{1, 1}, {9, 3}, {2, 2}});
  ASSERT_TRUE(estimate);
  EXPECT_DOUBLE_EQ(estimate->value, 2);
  EXPECT_FALSE(batched_ratio({}));
  EXPECT_FALSE(batched_ratio({{1, 0}}));
  EXPECT_FALSE(batched_ratio({{1, 1}})->interval);
}

}  // namespace
}  // namespace kvet::questions
