// A device whose SMs become busy a little before a block's first instruction and idle a little after its last, a counters'
// clock and a GPU timer with planted offsets: the anchor must lie where they were planted.
#include "clocks/pulse_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace kvet::clocks {
namespace {

constexpr int64_t us = 1'000, ms = 1'000'000;
constexpr int64_t monotonic_epoch = 86'400'123'456'789;  // where the train begins
constexpr int64_t raw_epoch = 1'790'000'000'000'000'321;  // the same moment on the counters' clock
constexpr int64_t timer_epoch = 1'789'999'999'000'000'000;  // and on the GPU's timer
constexpr int64_t planted_offset = monotonic_epoch - raw_epoch;  // CLOCK_MONOTONIC − raw
constexpr int64_t coarse = planted_offset + 390 * us;  // as the sampler's bracket may be off

struct Train {
  std::mt19937_64 random{7};
  int64_t interval = 100 * us;
  double launch = 400, drain = 200;  // an SM is busy by so much longer than the block's log
  int64_t timer_step = 32;
  struct Run {
    double from, to, level;  // time since the epochs at which SMs are busy
  };
  std::vector<Run> foreign;
  std::vector<Run> runs;
  PulseTrain train;

  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); }
  int64_t timer(double time) const { return (timer_epoch + std::llround(time)) / timer_step * timer_step; }

  explicit Train(int pulses = 24) {
    train.timer_origin_ns = timer_epoch;
    double time = 2.0 * ms;
    for (int i = 0; i < pulses; ++i) {
      const double length = uniform(0.6, 1.2) * static_cast<double>(interval);
      runs.push_back({time, time + length, 1});
      time += length + uniform(1.2, 3.2) * static_cast<double>(interval);
    }
  }
  void shake_hands(int count, double one_way_most) {
    double time = 100 * us;
    for (int i = 0; i < count; ++i) {
      const double to = uniform(300, one_way_most), back = uniform(300, one_way_most);
      train.handshakes.push_back(
          {monotonic_epoch + std::llround(time), monotonic_epoch + std::llround(time + to + back), timer(time + to)});
      time += to + back + 2'000;
    }
  }
  void log() {
    for (const Run& run : runs) {
      train.pulses.push_back({static_cast<double>(timer(run.from + launch) - timer_epoch),
                              static_cast<double>(timer(run.to - drain) - timer_epoch), run.level});
    }
  }
  // Busy share of each sample, by brute force.
  std::vector<MeasuredLoad> samples() const {
    std::vector<MeasuredLoad> all;
    const double phase = 0.37 * static_cast<double>(interval);
    for (double start = phase; start < runs.back().to + 1.0 * ms; start += static_cast<double>(interval)) {
      const double end = start + static_cast<double>(interval);
      double busy = 0;
      const auto add = [&](const Run& run) {
        busy += std::max(0.0, std::min(end, run.to) - std::max(start, run.from)) * run.level;
      };
      std::ranges::for_each(runs, add);
      std::ranges::for_each(foreign, add);
      MeasuredLoad load;
      load.start_ns = raw_epoch + std::llround(start);
      load.end_ns = raw_epoch + std::llround(end);
      load.busy = static_cast<float>(std::min(1.0, busy / (end - start)));
      all.push_back(load);
    }
    return all;
  }
  Result<ClockAnchor> fit() {
    shake_hands(32, 900);
    log();
    return fit_pulses(samples(), train, coarse, 1 * ms);
  }
};

TEST(PulseFit, FindsThePlantedOffset) {
  Train train;
  const auto anchor = train.fit();
  ASSERT_TRUE(anchor) << anchor.error().message();
  // Half of launch − drain cannot be told from the clock, nor where in its bracket a handshake is.
  EXPECT_NEAR(static_cast<double>(anchor->offset_ns - planted_offset), 0, 400);
  EXPECT_LE(std::abs(anchor->offset_ns - planted_offset), anchor->residual_p95_ns);
  EXPECT_NEAR(static_cast<double>(anchor->unlogged_ns), train.launch + train.drain, 60);
  EXPECT_LT(anchor->residual_p95_ns, 1'000);
  EXPECT_GE(anchor->pulses, 12u);
  // What belongs to the train can be told from the target's work.
  EXPECT_LE(anchor->from_ns, raw_epoch + std::llround(train.runs.front().from));
  EXPECT_GE(anchor->to_ns, raw_epoch + std::llround(train.runs.back().to));
  EXPECT_NEAR(static_cast<double>(anchor->from_ns - raw_epoch), train.runs.front().from, 2'000);
}

TEST(PulseFit, BoundsOfTheHandshakesGoIntoTheResidual) {
  Train train;
  train.shake_hands(1, 6'000);
  train.log();
  const auto anchor = fit_pulses(train.samples(), train.train, coarse, 1 * ms);
  ASSERT_TRUE(anchor) << anchor.error().message();
  const Handshake& one = train.train.handshakes.front();
  EXPECT_NEAR(static_cast<double>(anchor->bracket_ns), static_cast<double>(one.after_ns - one.before_ns), 2'000);
  EXPECT_GE(anchor->residual_p95_ns, 9 * anchor->bracket_ns / 20);
  EXPECT_LE(std::abs(anchor->offset_ns - planted_offset), anchor->bracket_ns);
}

TEST(PulseFit, ATimerThatMovesInStepsOfAMicrosecond) {
  Train train;
  train.timer_step = 1'024;
  const auto anchor = train.fit();
  ASSERT_TRUE(anchor) << anchor.error().message();
  EXPECT_NEAR(static_cast<double>(anchor->offset_ns - planted_offset), 0, 1'024);
}

// Other processes take turns with the pulses: what they touch is left out, what they leave alone is enough.
TEST(PulseFit, LeavesOutWhatOthersDisturb) {
  Train train(40);
  for (size_t i = 0; i < train.runs.size(); i += 3) {
    const double from = train.runs[i].from - train.uniform(0, 150 * us);
    train.foreign.push_back({from, from + train.uniform(20 * us, 250 * us), 0.6});
  }
  const auto anchor = train.fit();
  ASSERT_TRUE(anchor) << anchor.error().message();
  EXPECT_NEAR(static_cast<double>(anchor->offset_ns - planted_offset), 0, 500);
}

TEST(PulseFit, FewerSMsThanThereAre) {
  Train train;
  for (auto& run : train.runs) {
    run.level = 100.0 / 132;
  }
  const auto anchor = train.fit();
  ASSERT_TRUE(anchor) << anchor.error().message();
  EXPECT_NEAR(static_cast<double>(anchor->offset_ns - planted_offset), 0, 400);
}

TEST(PulseFit, ABusyDeviceDrownsThem) {
  Train train;
  train.foreign.push_back({0, train.runs.back().to + 5.0 * ms, 1});
  const auto anchor = train.fit();
  ASSERT_FALSE(anchor);
  EXPECT_EQ(anchor.error().kind, ErrorKind::unavailable);
  EXPECT_NE(anchor.error().message().find("drowned"), std::string::npos) << anchor.error().message();
}

TEST(PulseFit, SamplesOfSomethingElseGiveNoAnchor) {
  Train train, other;
  other.random.seed(99);
  other.runs.clear();
  double time = 2.2 * ms;
  while (other.runs.size() < 24) {
    const double length = other.uniform(0.6, 1.2) * 100 * us;
    other.runs.push_back({time, time + length, 1});
    time += length + other.uniform(1.2, 3.2) * 100 * us;
  }
  train.shake_hands(32, 900);
  train.log();
  EXPECT_FALSE(fit_pulses(other.samples(), train.train, coarse, 1 * ms));
}

TEST(PulseFit, NeedsHandshakesPulsesAndSamples) {
  Train train;
  train.log();
  EXPECT_NE(fit_pulses(train.samples(), train.train, coarse, ms).error().what.find("handshake"), std::string::npos);
  train.shake_hands(4, 900);
  EXPECT_FALSE(fit_pulses({}, train.train, coarse, ms));
  train.train.pulses.resize(3);
  EXPECT_FALSE(fit_pulses(train.samples(), train.train, coarse, ms));
}

}  // namespace
}  // namespace kvet::clocks
