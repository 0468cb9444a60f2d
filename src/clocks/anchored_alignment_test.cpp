// Executions and pulses together, with a planted clock: offset, drift, and kernels that begin late and end early by different
// amounts, which only the two together can tell.
#include "clocks/anchored_alignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace kvet::clocks {
namespace {

constexpr int64_t us = 1'000, ms = 1'000'000, second = 1'000'000'000;
constexpr int64_t monotonic_epoch = 7'000 * second, raw_epoch = 1'700'000'000 * second;
constexpr double drift = 2.8e-6;
constexpr int64_t start_delay = 1'700, end_lead = 500;

// CLOCK_MONOTONIC of a raw time, both since their epochs.
double monotonic(double raw) { return 250 * us + raw * (1 + drift); }

struct World {
  std::mt19937_64 random{3};
  int64_t length = 4 * second, interval = 100 * us;
  struct Run {
    double from, to;  // CLOCK_MONOTONIC since its epoch, as recorded
    uint32_t blocks;
    double fade = 1;  // SM after SM goes idle over its last so many ns
  };
  std::vector<Run> runs;

  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); }
  void separate() {
    for (double time = 30.0 * ms; time < static_cast<double>(length);) {
      const double duration = uniform(0.2, 2) * ms;
      runs.push_back({time, time + duration, 264});
      time += duration + uniform(0.3, 3) * ms;
    }
  }
  // Replays of exactly 1 ms, recorded from their middle: executions alone cannot tell the periods apart.
  void periodic() {
    for (double time = -100.0 * ms; time < static_cast<double>(length) + 100.0 * ms; time += 1.0 * ms) {
      runs.push_back({time, time + 250.0 * us, 264});
      runs.push_back({time + 400.0 * us, time + 700.0 * us, 264});
    }
  }
  // Back to back, one wave each.
  void busy() {
    for (double time = -50.0 * ms; time < static_cast<double>(length) + 50.0 * ms;) {
      const double duration = uniform(20, 200) * us;
      runs.push_back({time, time + duration, 132 + static_cast<uint32_t>(uniform(0, 900))});
      time += duration + 4'000;
    }
  }

  // Brute force over what the SMs really do.
  CounterAlignment alignment(int64_t coarse_error = 400 * us) const {
    Device device;
    device.multiprocessors = 132;
    device.max_warps_per_multiprocessor = 64;
    device.max_blocks_per_multiprocessor = 32;
    AlignmentOptions options;
    options.coarse_offset_ns = monotonic_epoch - raw_epoch + coarse_error;
    CounterAlignment found(DeviceId{0}, options);
    size_t first = 0;
    for (int64_t raw = 0; raw < length; raw += interval) {
      const double from = monotonic(static_cast<double>(raw)), to = monotonic(static_cast<double>(raw + interval));
      while (first < runs.size() && runs[first].to < from - 10.0 * ms) {
        ++first;
      }
      double busy = 0, warps = 0, blocks = 0;
      for (size_t i = first; i < runs.size() && runs[i].from < to; ++i) {
        const double begin = runs[i].from + start_delay, end = runs[i].to - end_lead;
        // SM time up to some moment: all of it until the fading begins, then a parabola.
        const auto until = [&](double moment) {
          const double faded = std::clamp(moment - (end - runs[i].fade), 0.0, runs[i].fade);
          return std::clamp(moment, begin, end - runs[i].fade) - begin + faded - faded * faded / (2 * runs[i].fade);
        };
        busy += until(to) - until(from);
        warps += begin >= from && begin < to ? runs[i].blocks * 8.0 : 0;
        const double gone = (std::clamp(to, end - runs[i].fade, end) - std::clamp(from, end - runs[i].fade, end));
        blocks += runs[i].blocks * gone / runs[i].fade;
      }
      found.add(MeasuredLoad{raw_epoch + raw, raw_epoch + raw + interval,
                             static_cast<float>(std::min(1.0, busy / (to - from))), static_cast<float>(warps),
                             static_cast<float>(blocks)});
    }
    for (const Run& run : runs) {
      KernelShape shape;
      shape.grid = {run.blocks, 1, 1};
      shape.block = {256, 1, 1};
      Execution execution;
      execution.start_ns = monotonic_epoch + std::llround(run.from);
      execution.end_ns = monotonic_epoch + std::llround(run.to);
      found.add(expected_load(execution, shape, device));
    }
    return found;
  }
  // What pulses say at a raw time, `wrong_ns` beside the truth.
  ClockMapping anchor(int64_t raw, int64_t wrong_ns = 0, int64_t p95_ns = 600) const {
    ClockMapping mapping;
    mapping.source = ClockSource::counters;
    mapping.device = DeviceId{0};
    mapping.from_ns = raw_epoch + raw;
    mapping.offset_ns = monotonic_epoch - raw_epoch +
                        std::llround(monotonic(static_cast<double>(raw)) - static_cast<double>(raw)) + wrong_ns;
    mapping.residual_ns = p95_ns / 2;
    mapping.residual_p95_ns = p95_ns;
    return mapping;
  }
  std::vector<ClockMapping> anchors(int64_t wrong_ns = 0) const {
    return {anchor(length + 50 * ms, wrong_ns), anchor(-100 * ms, wrong_ns)};
  }
  Result<AnchoredAlignment> align(std::vector<ClockMapping> all) const {
    return align_with_anchors(alignment(), std::move(all), raw_epoch, raw_epoch + length);
  }
  double worst_error(const std::vector<ClockMapping>& mappings) const {
    double worst = 0;
    for (int64_t raw = 0; raw < length; raw += 20 * ms) {
      const ClockMapping* holds = &mappings.front();
      for (const ClockMapping& one : mappings) {
        holds = one.from_ns <= raw_epoch + raw ? &one : holds;
      }
      const double mapped = static_cast<double>(raw + (raw_epoch - monotonic_epoch) + holds->offset_ns) +
                            holds->drift_ns_per_s * static_cast<double>(raw_epoch + raw - holds->from_ns) / 1e9;
      worst = std::max(worst, std::abs(mapped - monotonic(static_cast<double>(raw))));
    }
    return worst;
  }
};

TEST(AnchoredAlignment, StartAndEndBiasApart) {
  World world;
  world.separate();
  const auto found = world.align(world.anchors());
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_LT(world.worst_error(found->mappings), 400);
  for (const ClockMapping& mapping : found->mappings) {
    ASSERT_TRUE(mapping.start_bias_ns && mapping.end_bias_ns);
    EXPECT_NEAR(static_cast<double>(*mapping.start_bias_ns), start_delay, 400);
    EXPECT_NEAR(static_cast<double>(*mapping.end_bias_ns), end_lead, 400);
    EXPECT_LE(*mapping.residual_ns, *mapping.residual_p95_ns);
  }
}

TEST(AnchoredAlignment, WithoutPulsesOnlyTheSumOfTheBiasesIsKnown) {
  World world;
  world.separate();
  const auto found = world.align({});
  ASSERT_TRUE(found) << found.error().message();
  // The middle of starts and ends is off by half of what the two differ.
  EXPECT_NEAR(world.worst_error(found->mappings), (start_delay - end_lead) / 2.0, 300);
  const ClockMapping& mapping = found->mappings.front();
  ASSERT_TRUE(mapping.start_bias_ns && mapping.end_bias_ns);
  EXPECT_NEAR(static_cast<double>(*mapping.start_bias_ns + *mapping.end_bias_ns), start_delay + end_lead, 400);
}

// As on an H200: most kernels' blocks end one by one, over up to nearly all of their length, and some end at once.
TEST(AnchoredAlignment, KernelsThatFadeOutHideNeitherBiasNorClock) {
  World world;
  world.separate();
  for (size_t i = 0; i < world.runs.size(); ++i) {
    world.runs[i].fade = i % 5 == 0 ? 1 : world.uniform(0.4, 0.9) * (world.runs[i].to - world.runs[i].from);
  }
  const auto found = world.align(world.anchors());
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_LT(world.worst_error(found->mappings), 600) << found->said;
  const ClockMapping& mapping = found->mappings.front();
  ASSERT_TRUE(mapping.start_bias_ns && mapping.end_bias_ns && mapping.residual_p95_ns) << found->said;
  EXPECT_NEAR(static_cast<double>(*mapping.start_bias_ns), start_delay, 600) << found->said;
  EXPECT_NEAR(static_cast<double>(*mapping.end_bias_ns), end_lead, 600) << found->said;
  EXPECT_LT(*mapping.residual_p95_ns, 3'000) << found->said;
}

TEST(AnchoredAlignment, ABusyDeviceByItsFlows) {
  World world;
  world.busy();
  const auto found = world.align(world.anchors());
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_LT(world.worst_error(found->mappings), 1'000) << found->said;
  const ClockMapping& mapping = found->mappings.front();
  ASSERT_TRUE(mapping.residual_ns && mapping.residual_p95_ns && mapping.start_bias_ns && mapping.end_bias_ns)
      << found->said;
  EXPECT_LT(*mapping.residual_ns, 2'000);
  EXPECT_LT(*mapping.residual_p95_ns, 5'000);
  EXPECT_NEAR(static_cast<double>(*mapping.start_bias_ns), start_delay, 800) << found->said;
  EXPECT_NEAR(static_cast<double>(*mapping.end_bias_ns), end_lead, 800) << found->said;
}

TEST(AnchoredAlignment, PulsesTellPeriodsOfTheWorkloadApart) {
  World world;
  world.length = 2 * second;
  world.periodic();
  EXPECT_FALSE(world.align({}));
  const auto found = world.align(world.anchors());
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_LT(world.worst_error(found->mappings), 1'000) << found->said;
  EXPECT_NE(found->said.find("edges"), std::string::npos) << found->said;
}

// The host tier: nobody knows what ran.
TEST(AnchoredAlignment, PulsesAloneFixOffsetAndDrift) {
  World world;
  world.length = 60 * second;
  CounterAlignment nothing(DeviceId{0}, {.coarse_offset_ns = monotonic_epoch - raw_epoch});
  nothing.add(MeasuredLoad{raw_epoch, raw_epoch + world.interval, 0, 0, 0});
  const auto found = align_with_anchors(nothing, world.anchors(), raw_epoch, raw_epoch + world.length);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_LT(world.worst_error(found->mappings), 100);
  EXPECT_NEAR(found->mappings.front().drift_ns_per_s, 2'800, 5);
  EXPECT_EQ(found->mappings.front().residual_p95_ns, 600);
  EXPECT_FALSE(found->mappings.front().start_bias_ns);
}

TEST(AnchoredAlignment, OneEndAloneIsWorthLessTheLongerItLasts) {
  World world;
  world.length = 10 * second;
  CounterAlignment nothing(DeviceId{0}, {.coarse_offset_ns = monotonic_epoch - raw_epoch});
  nothing.add(MeasuredLoad{raw_epoch, raw_epoch + world.interval, 0, 0, 0});
  const auto found = align_with_anchors(nothing, {world.anchor(0)}, raw_epoch, raw_epoch + world.length);
  ASSERT_TRUE(found) << found.error().message();
  // 2.8 µs/s over 10 s, and nobody knew.
  EXPECT_NEAR(world.worst_error(found->mappings), 28'000, 200);
  EXPECT_GE(found->mappings.front().residual_p95_ns, 28'000);
}

// A busy machine kept the handshakes at one end waiting: 840 µs wide, and off by 300.
TEST(AnchoredAlignment, AVagueAnchorDoesNotSpoilAFineOne) {
  World world;
  world.length = 1'200 * ms;
  CounterAlignment nothing(DeviceId{0}, {.coarse_offset_ns = monotonic_epoch - raw_epoch});
  nothing.add(MeasuredLoad{raw_epoch, raw_epoch + world.interval, 0, 0, 0});
  ClockMapping vague = world.anchor(0, 440 * us, 840 * us);
  vague.offset_ns += 300 * us;
  const auto found =
      align_with_anchors(nothing, {vague, world.anchor(world.length)}, raw_epoch, raw_epoch + world.length);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_LT(world.worst_error(found->mappings), 3'500) << found->said;  // 2.8 µs/s over 1.2 s
  EXPECT_GE(found->mappings.front().residual_p95_ns, 3'400);
}

TEST(AnchoredAlignment, AContradictionIsSaidAndGoesIntoTheResidual) {
  World world;
  world.separate();
  const auto found = world.align(world.anchors(-45 * us));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_NE(found->said.find("contradict"), std::string::npos) << found->said;
  EXPECT_GE(found->mappings.front().residual_p95_ns, 40'000);
}

TEST(AnchoredAlignment, CoarsePulsesMoveNothing) {
  World world;
  world.separate();
  const auto found =
      world.align({world.anchor(-100 * ms, 6 * us, 8 * us), world.anchor(world.length + 50 * ms, 6 * us, 8 * us)});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_LT(world.worst_error(found->mappings), 1'000) << found->said;
}

TEST(AnchoredAlignment, NothingAtAllIsAReason) {
  CounterAlignment nothing(DeviceId{0}, {});
  EXPECT_FALSE(align_with_anchors(nothing, {}, 0, 1));
}

}  // namespace
}  // namespace kvet::clocks
