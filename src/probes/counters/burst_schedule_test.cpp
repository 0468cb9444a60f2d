#include "probes/counters/burst_schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kvet::probes {
namespace {

TEST(BurstSchedule, ComesAsOftenAsPlannedAndAtNoFixedPeriod) {
  const BurstPlan plan{.interval_ns = 10'000, .length_ns = 5'000'000, .period_ns = 1'000'000'000};
  BurstSchedule schedule(plan, 7);
  int64_t now = 0;
  double sum = 0, squares = 0;
  constexpr int bursts = 4000;
  for (int i = 0; i < bursts; ++i) {
    schedule.begin(now);
    const auto distance = static_cast<double>(schedule.next_ns() - now);
    EXPECT_GE(distance, 2.0 * 5'000'000);
    EXPECT_LE(distance, 4e9);
    EXPECT_FALSE(schedule.due(schedule.next_ns() - 1));
    EXPECT_TRUE(schedule.due(schedule.next_ns()));
    sum += distance;
    squares += distance * distance;
    now = schedule.next_ns();
  }
  // An exponential of mean 1 s cut off at 4 s: mean 1 - e^-4 = 0.982, second moment 2 - 10·e^-4 = 1.817 (plus what the floor
  // adds, 0.05% and less), so the standard deviation is 0.923. Five standard errors of 4,000.
  const double mean = sum / bursts / 1e9;
  EXPECT_NEAR(mean, 1 - std::exp(-4.0), 5 * 0.923 / std::sqrt(double{bursts}));
  EXPECT_NEAR(squares / bursts / 1e18 - mean * mean, 0.923 * 0.923, 0.15);
}

TEST(BurstSchedule, NoneAreWanted) {
  BurstSchedule schedule({.interval_ns = 10'000, .length_ns = 0, .period_ns = 1'000'000'000}, 7);
  schedule.begin(0);
  EXPECT_FALSE(schedule.due(INT64_MAX));
}

}  // namespace
}  // namespace kvet::probes
