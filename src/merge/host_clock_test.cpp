// Ends of collectives as two hosts would see them, with a planted offset, drift and noise.
#include "merge/host_clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kvet::merge {
namespace {

constexpr int64_t shift_ns = 3'000'000'000;
constexpr double drift = 20e-6;

struct Job {
  std::vector<SharedSequence> reference, host;
};

// Collectives every 5 ms on average if `irregular`: steps vary, as they do. Else every `period_ns`. The host's ends are noise_ns off (standard deviation).
Job planted(size_t count, bool irregular, double noise_ns, int64_t period_ns = 50'000'000) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> more(1.0 / 1e6);
  std::normal_distribution<double> noise(0, noise_ns);
  Job job;
  job.reference.push_back({"00aa", true, {}});
  job.host.push_back({"00aa", true, {}});
  int64_t time = 1'000'000'000;
  for (size_t i = 0; i < count; ++i) {
    time += irregular ? 4'000'000 + std::llround(more(random)) : period_ns;
    const int64_t seen =
        time + shift_ns + std::llround(drift * static_cast<double>(time)) + std::llround(noise(random));
    job.reference[0].elements.push_back({time, 1, true, true});
    job.host[0].elements.push_back({seen, 1, true, true});
  }
  return job;
}

int64_t worst_error(const Job& job, const HostClock& clock) {
  int64_t worst = 0;
  const auto& all = job.reference[0].elements;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto true_host = all[i].end_ns + shift_ns + std::llround(drift * static_cast<double>(all[i].end_ns));
    worst = std::max(worst, std::abs(clock.to_reference(true_host) - all[i].end_ns));
  }
  return worst;
}

TEST(HostClock, OffsetAndDriftAreFound) {
  const Job job = planted(2000, true, 3000);
  const auto clock = align(job.reference, job.host, {});
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->collectives, 2000U);
  EXPECT_NEAR(clock->drift, drift, 1e-7);
  EXPECT_LT(worst_error(job, *clock), 1500);  // half of the noise of one collective
  // Of a normal distribution half lies within 0.6745 and 95% within 1.96 standard deviations.
  EXPECT_NEAR(static_cast<double>(*clock->residual_ns), 0.6745 * 3000, 200);
  EXPECT_NEAR(static_cast<double>(*clock->residual_p95_ns), 1.96 * 3000, 500);
}

TEST(HostClock, ARecordingThatBeganLaterIsRenumbered) {
  for (const size_t missed : {1U, 7U, 300U}) {
    Job job = planted(1000, true, 3000);
    auto& elements = job.host[0].elements;
    elements.erase(elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(missed));
    job.host[0].from_the_first = false;
    const auto clock = align(job.reference, job.host, {});
    ASSERT_TRUE(clock) << missed;
    EXPECT_EQ(clock->collectives, 1000U - missed);
    EXPECT_LT(worst_error(job, *clock), 1500);
    // And the other way round.
    const auto back = align(job.host, job.reference, {});
    ASSERT_TRUE(back) << missed;
    EXPECT_LT(
        std::abs(back->to_reference(job.reference[0].elements[500].end_ns) - job.host[0].elements[500 - missed].end_ns),
        15000);
  }
}

TEST(HostClock, WhatIsAsRegularAsAClockNeedsTheTimeOfDay) {
  Job job = planted(1000, false, 3000);
  job.host[0].from_the_first = false;
  auto& elements = job.host[0].elements;
  elements.erase(elements.begin(), elements.begin() + 5);
  EXPECT_FALSE(align(job.reference, job.host, {}));
  const auto clock = align(job.reference, job.host, shift_ns + 8'000'000);  // as good as NTP
  ASSERT_TRUE(clock);
  EXPECT_LT(worst_error(job, *clock), 1500);
}

TEST(HostClock, TheTimeOfDayDecidesNothingAboutShortPeriods) {
  Job job = planted(200, false, 0, 500'000);
  job.host[0].from_the_first = false;
  EXPECT_FALSE(align(job.reference, job.host, shift_ns - 7'000'000));
}

TEST(HostClock, OtherKindsOfOperationsAreNotPaired) {
  Job job = planted(100, true, 3000);
  for (auto& element : job.host[0].elements) {
    element.what = 2;
  }
  EXPECT_FALSE(align(job.reference, job.host, {}));
}

TEST(HostClock, WithoutACommonCommunicatorThereIsNoClock) {
  Job job = planted(100, true, 3000);
  job.host[0].key = "00bb";
  EXPECT_FALSE(align(job.reference, job.host, shift_ns));
  EXPECT_FALSE(align({}, {}, 0));
}

TEST(HostClock, EndsThatDoNotMeetAreNoClock) {
  Job job = planted(100, true, 3000);
  std::mt19937_64 random(3);
  std::uniform_int_distribution<int64_t> anywhere(0, 1'000'000'000'000);
  for (auto& element : job.host[0].elements) {
    element.end_ns = anywhere(random);
  }
  EXPECT_FALSE(align(job.reference, job.host, {}));
}

}  // namespace
}  // namespace kvet::merge
