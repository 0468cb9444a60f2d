#include "questions/rank_clock.h"

#include <gtest/gtest.h>

#include <random>

namespace kvet::questions {
namespace {

TEST(RankClock, OffsetAndDriftAreFoundThroughNoiseAndOutliers) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 300);
  std::vector<std::pair<int64_t, double>> behind;
  for (int64_t i = 0; i < 200; ++i) {
    const int64_t time = 1'000'000'000'000 + i * 5'000'000;  // one second in all
    const double outlier = i % 10 == 3 ? 40'000 : 0;
    behind.emplace_back(time, 15'000 + 20e-6 * static_cast<double>(time - 1'000'000'000'000) + noise(random) + outlier);
  }
  const RankClock clock = fit_rank_clock(behind);
  EXPECT_NEAR(clock.drift, 20e-6, 1e-6);  // 20 µs per second
  EXPECT_NEAR(static_cast<double>(clock.correction_at(1'000'500'000'000)), 25'000, 300);
}

TEST(RankClock, NoiseIsNoDrift) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> noise(0, 300);
  std::vector<std::pair<int64_t, double>> behind;
  for (int64_t i = 0; i < 200; ++i) {
    behind.emplace_back(i * 5'000'000, -7'000 + noise(random));
  }
  const RankClock clock = fit_rank_clock(behind);
  EXPECT_EQ(clock.drift, 0);
  EXPECT_NEAR(clock.offset_ns, -7'000, 100);
}

TEST(RankClock, WhatCannotBeAClockIsNotCorrected) {
  const RankClock clock = fit_rank_clock({{0, 4e18}, {1, 4e18}});
  EXPECT_EQ(clock.correction_at(0), 0);
  EXPECT_EQ(fit_rank_clock({}).correction_at(5), 0);
}

TEST(RankClock, PartsAreShiftedAndTheRestIsTheResidual) {
  MatchResult matches;
  for (int64_t i = 0; i < 9; ++i) {
    Matched matched;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      Part part;
      part.rank = rank;
      part.what.kind = CollectiveKind::all_reduce;
      part.start_ns = i * 1'000'000 + (rank == 0 ? 0 : 30'000);
      part.end_ns = i * 1'000'000 + 100'000 + (rank == 0 ? 0 : 10'000);
      matched.parts.push_back(part);
    }
    matches.collectives.push_back(matched);
  }
  align_rank_clocks(matches, 2);
  const auto& parts = matches.collectives[4].parts;
  EXPECT_EQ(parts[0].end_ns, parts[1].end_ns);
  EXPECT_EQ(parts[1].start_ns - parts[0].start_ns, 20'000);
  EXPECT_EQ(parts[0].start_ns - parts[0].shift_ns, 4'000'000);
  EXPECT_EQ(matches.residual_ns, 0);
  EXPECT_EQ(matches.largest_shift_ns, 5'000);
}

}  // namespace
}  // namespace kvet::questions
