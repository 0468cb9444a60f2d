#include "probes/counters/sample_guard.h"

#include <gtest/gtest.h>

namespace kvet::probes {
namespace {

constexpr uint64_t interval = 100'000;

TEST(SampleGuard, DropsTheFirstAndKeepsWhatFollowsWithoutAGap) {
  SampleGuard guard(interval);
  EXPECT_FALSE(guard.next(1'000, 900'000'000).keep);  // spans everything since sampling was enabled
  for (uint64_t i = 0; i < 5; ++i) {
    const auto answer = guard.next(900'000'000 + i * interval, 900'000'000 + (i + 1) * interval);
    EXPECT_TRUE(answer.keep);
    EXPECT_FALSE(answer.loss);
  }
}

TEST(SampleGuard, CountsWhatIsMissingInAGap) {
  SampleGuard guard(interval);
  (void)guard.next(1, 2);
  (void)guard.next(1'000'000, 1'100'000);
  const auto answer = guard.next(1'400'000, 1'500'000);
  EXPECT_TRUE(answer.keep);
  ASSERT_TRUE(answer.loss);
  EXPECT_EQ(answer.loss->kind, KVET_SAMPLER_LOSS_GAP);
  EXPECT_EQ(answer.loss->count, 3u);
  EXPECT_EQ(answer.loss->first_ns, 1'100'000u);
  EXPECT_EQ(answer.loss->last_ns, 1'400'000u);
}

TEST(SampleGuard, TriggerJitterIsNoGap) {
  SampleGuard guard(interval);
  (void)guard.next(1, 2);
  (void)guard.next(1'000'000, 1'100'000);
  EXPECT_FALSE(guard.next(1'100'032, 1'200'000).loss);
  EXPECT_FALSE(guard.next(1'199'968, 1'300'000).loss);
}

TEST(SampleGuard, QuarantinesTimesThatCannotBe) {
  SampleGuard guard(interval);
  (void)guard.next(1, 2);
  (void)guard.next(1'000'000, 1'100'000);
  struct {
    uint64_t start, end;
  } wrong[] = {{1'100'000, 1'100'000}, {1'200'000, 1'150'000}, {0, 1'200'000}, {1'000'000, 1'100'000}};
  for (const auto& times : wrong) {
    const auto answer = guard.next(times.start, times.end);
    EXPECT_FALSE(answer.keep);
    ASSERT_TRUE(answer.loss);
    EXPECT_EQ(answer.loss->kind, KVET_SAMPLER_LOSS_BAD_TIME);
    EXPECT_EQ(answer.loss->count, 1u);
  }
  EXPECT_TRUE(guard.next(1'100'000, 1'200'000).keep);  // and they leave no trace
}

TEST(SampleGuard, AnOverflowIsCountedUntilSamplesComeAgain) {
  SampleGuard guard(interval);
  (void)guard.next(1, 2);
  (void)guard.next(1'000'000, 1'100'000);
  guard.restarted(SampleGuard::Restart::overflow, interval);
  EXPECT_FALSE(guard.next(1'100'000, 2'100'000).keep);  // the first after the restart spans the pause
  const auto answer = guard.next(2'100'000, 2'200'000);
  EXPECT_TRUE(answer.keep);
  ASSERT_TRUE(answer.loss);
  EXPECT_EQ(answer.loss->kind, KVET_SAMPLER_LOSS_OVERFLOW);
  EXPECT_EQ(answer.loss->count, 10u);
  const auto later = guard.next(2'400'000, 2'500'000);
  ASSERT_TRUE(later.loss);
  EXPECT_EQ(later.loss->kind, KVET_SAMPLER_LOSS_GAP);
}

TEST(SampleGuard, APlannedPauseIsNoLossAndTheNewIntervalCounts) {
  SampleGuard guard(interval);
  (void)guard.next(1, 2);
  (void)guard.next(1'000'000, 1'100'000);
  guard.restarted(SampleGuard::Restart::planned, 10'000);
  EXPECT_FALSE(guard.next(1'100'000, 2'100'000).keep);
  const auto first = guard.next(2'100'000, 2'110'000);
  EXPECT_TRUE(first.keep);
  EXPECT_FALSE(first.loss);
  EXPECT_EQ(guard.paused_ns(), 1'000'000u);
  const auto later = guard.next(2'140'000, 2'150'000);  // three of the finer samples
  ASSERT_TRUE(later.loss);
  EXPECT_EQ(later.loss->count, 3u);
  EXPECT_EQ(guard.paused_ns(), 1'000'000u);
}

TEST(SampleGuard, APlannedRestartDoesNotHideAnOverflow) {
  SampleGuard guard(interval);
  (void)guard.next(1, 2);
  (void)guard.next(1'000'000, 1'100'000);
  guard.restarted(SampleGuard::Restart::overflow, interval);
  guard.restarted(SampleGuard::Restart::planned, 10'000);
  (void)guard.next(1'100'000, 2'100'000);
  const auto answer = guard.next(2'100'000, 2'110'000);
  ASSERT_TRUE(answer.loss);
  EXPECT_EQ(answer.loss->kind, KVET_SAMPLER_LOSS_OVERFLOW);
}

}  // namespace
}  // namespace kvet::probes
