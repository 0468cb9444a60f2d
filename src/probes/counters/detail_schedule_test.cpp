#include "probes/counters/detail_schedule.h"

#include <gtest/gtest.h>

namespace kvet::probes {
namespace {

TEST(DetailSchedule, AQuarterOfTheTimeInStretchesOfRandomLength) {
  DetailSchedule schedule(DetailMode::in_turns, 3);
  schedule.begin(0);
  EXPECT_FALSE(schedule.lean());
  int64_t in_detail = 0, shortest = INT64_MAX, longest = 0, begun = 0;
  constexpr int64_t step = 1'000'000, all = 2'000'000'000'000;  // 1,000 cycles of 2 s
  for (int64_t now = 0; now < all; now += step) {
    const bool was_lean = schedule.lean();
    if (schedule.change(now)) {
      EXPECT_NE(schedule.lean(), was_lean);
      if (!was_lean) {
        shortest = std::min(shortest, now - begun);
        longest = std::max(longest, now - begun);
      }
      begun = now;
    }
    in_detail += schedule.lean() ? 0 : step;
  }
  // Each stretch is uniform on 0.5 to 1.5 of its mean, so the part is 0.25 with a standard error of
  // 0.25·0.75·sqrt(2/12/1000) = 0.24%; five of them.
  EXPECT_NEAR(static_cast<double>(in_detail) / all, 0.25, 0.012);
  EXPECT_GE(shortest, 250'000'000);
  EXPECT_LE(shortest, 300'000'000);
  EXPECT_GE(longest, 700'000'000);
  EXPECT_LE(longest, 751'000'000);
}

TEST(DetailSchedule, AlwaysOrNever) {
  DetailSchedule always(DetailMode::always, 3), never(DetailMode::never, 3);
  always.begin(0);
  never.begin(0);
  EXPECT_FALSE(always.change(1'000'000'000'000));
  EXPECT_FALSE(never.change(1'000'000'000'000));
  EXPECT_FALSE(always.lean());
  EXPECT_TRUE(never.lean());
}

}  // namespace
}  // namespace kvet::probes
