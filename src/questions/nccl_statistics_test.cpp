#include "questions/nccl_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kvet::questions {
namespace {

// Tables of Student's t: P(T > t).
TEST(NcclStatistics, UpperTailOfStudentsT) {
  EXPECT_NEAR(t_upper_tail(12.706, 1), 0.025, 1e-5);
  EXPECT_NEAR(t_upper_tail(2.228, 10), 0.025, 1e-5);
  EXPECT_NEAR(t_upper_tail(3.646, 30), 0.0005, 1e-6);
  EXPECT_NEAR(t_upper_tail(0, 7), 0.5, 1e-6);
  EXPECT_NEAR(t_upper_tail(-2.228, 10), 0.975, 1e-5);
  EXPECT_EQ(t_upper_tail(std::nan(""), 10), 1);
}

// 1 − 6·Σd² ÷ (n·(n² − 1)) without ties: Σd² is 4 here.
TEST(NcclStatistics, SpearmansCorrelation) {
  const std::vector<double> a{1, 2, 3, 4, 5, 6, 7, 8}, b{2, 1, 3, 40, 50, 70, 60, 80};
  const auto found = rank_correlation(a, b);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->value, 1 - 6.0 * 4 / (8 * 63), 1e-12);
  EXPECT_LT(found->interval.low, found->value);
  EXPECT_GT(found->interval.high, found->value);
  EXPECT_FALSE(rank_correlation({1, 2, 3}, {1, 2, 3}));
  EXPECT_FALSE(rank_correlation(a, std::vector<double>(8, 5.0))) << "what does not vary goes with nothing";
}

TEST(NcclStatistics, IntervalsCoverWhatIsIndependent) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  int covered = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<double> a, b;
    for (int i = 0; i < 40; ++i) {
      a.push_back(normal(random));
      b.push_back(normal(random));
    }
    const auto found = rank_correlation(a, b);
    covered += found->interval.low <= 0 && found->interval.high >= 0 ? 1 : 0;
  }
  EXPECT_NEAR(covered, 380, 4 * std::sqrt(400 * 0.95 * 0.05));
}

TEST(NcclStatistics, ASlowCourseIsTakenAway) {
  std::vector<double> line, step;
  for (int i = 0; i < 50; ++i) {
    line.push_back(3.0 * i);
    step.push_back(i == 25 ? 100 : 0);
  }
  const auto flat = without_trend(line, 15);
  ASSERT_EQ(flat.size(), 50 - 2 * trend_edge);
  for (double value : flat) {
    EXPECT_EQ(value, 0);
  }
  EXPECT_EQ(without_trend(step, 15)[25 - trend_edge], 100) << "what is quick stays";
  EXPECT_TRUE(without_trend({1, 2, 3, 4, 5, 6}, 15).empty());
}

}  // namespace
}  // namespace kvet::questions
