// A simulated device whose counter clock has a planted offset, drift and jitter: alignment must find them again.
#include "clocks/counter_alignment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kvet::clocks {
namespace {

constexpr int64_t us = 1'000, ms = 1'000'000, second = 1'000'000'000;
constexpr int64_t begin_ns = 5'000 * second;      // CLOCK_MONOTONIC
constexpr int64_t raw_epoch_ns = 1'700'000'000 * second;  // the raw clock counts from elsewhere

struct Kernel {
  int64_t start_ns, end_ns;
  uint32_t blocks = 264;
};

// The planted truth. Everything below the sums is done by brute force on purpose: it shares no code with alignment.
struct World {
  Device device;
  std::vector<KernelShape> shapes;
  std::vector<Kernel> kernels;
  std::vector<Execution> executions;
  std::vector<Sample> samples;
  double offset_ns = 250 * us;  // CLOCK_MONOTONIC − raw − (begin − epoch), at the beginning
  double drift = 2.8e-6;
  double later_drift = 2.8e-6;  // from 30 s on
  std::mt19937_64 random{1};

  World() {
    device.multiprocessors = 132;
    device.max_warps_per_multiprocessor = 64;
    device.max_blocks_per_multiprocessor = 32;
  }

  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); }

  // The true time of a raw time.
  double monotonic(double raw_since_epoch) const {
    const double late = std::max(0.0, raw_since_epoch - 30.0 * second);
    return static_cast<double>(begin_ns) + raw_since_epoch + offset_ns + drift * (raw_since_epoch - late) +
           later_drift * late;
  }

  void launch(int64_t start_ns, int64_t duration_ns, uint32_t blocks = 264) {
    kernels.push_back({start_ns, start_ns + duration_ns, blocks});
  }

  struct Sampling {
    int64_t from_ns = 0, to_ns = 4 * second, interval_ns = 100 * us;  // raw, since the epoch
    double noise = 0.01;       // of a sample's busy share
    double lost = 0;           // share of samples missing
    double foreign = 0;        // share of samples in which another process was busy
    bool flows = true;
    double fade_ns = 1;  // kernels lose their SMs one by one over their last so many ns
  };
  // SMs become busy 0.9 µs after CUPTI's start and idle 0.7 µs before its end.
  void sample(const Sampling& how) {
    for (const Kernel& kernel : kernels) {
      KernelShape shape;
      shape.id = ShapeId{kernel.blocks};
      shape.grid = {kernel.blocks, 1, 1};
      shape.block = {256, 1, 1};
      if (shapes.size() <= kernel.blocks) {
        shapes.resize(kernel.blocks + 1);
      }
      shapes[kernel.blocks] = shape;
      Execution execution;
      execution.shape = shape.id;
      execution.start_ns = kernel.start_ns;
      execution.end_ns = kernel.end_ns;
      executions.push_back(execution);
    }
    size_t first = 0;
    for (int64_t raw = how.from_ns; raw < how.to_ns; raw += how.interval_ns) {
      const double from = monotonic(static_cast<double>(raw)),
                   to = monotonic(static_cast<double>(raw + how.interval_ns));
      double busy = 0, warps = 0;
      while (first < kernels.size() && static_cast<double>(kernels[first].end_ns) < from - 50.0 * ms) {
        ++first;
      }
      for (size_t k = first; k < kernels.size() && static_cast<double>(kernels[k].start_ns) < to; ++k) {
        const double start = static_cast<double>(kernels[k].start_ns) + 900,
                     end = static_cast<double>(kernels[k].end_ns) - 700;
        // SM time up to some moment: all of it until the fading begins, then a parabola.
        const double fade = std::min(how.fade_ns, end - start);
        const auto until = [&](double moment) {
          const double faded = std::clamp(moment - (end - fade), 0.0, fade);
          return std::clamp(moment, start, end - fade) - start + faded - faded * faded / (2 * fade);
        };
        busy += (until(to) - until(from)) * std::min(1.0, kernels[k].blocks / 132.0);
        if (start >= from && start < to) {
          warps += kernels[k].blocks * 8.0;
        }
      }
      double share = std::min(1.0, busy / (to - from));
      if (how.foreign > 0 && uniform(0, 1) < how.foreign) {
        share = 1;
      }
      share = std::max(0.0, share * (1 + std::normal_distribution<double>(0, how.noise)(random)));
      if (how.lost > 0 && uniform(0, 1) < how.lost) {
        continue;
      }
      Sample sample;
      sample.start_ns = raw_epoch_ns + raw;
      sample.end_ns = raw_epoch_ns + raw + how.interval_ns;
      sample.cycles_elapsed = 1.7 * static_cast<double>(how.interval_ns);
      sample.sm_active_cycles = share * *sample.cycles_elapsed * 132;
      if (how.flows) {
        sample.warps_launched = warps;
      }
      samples.push_back(sample);
    }
  }

  // The sampler's bracket is off by 0.7 ms.
  AlignmentOptions options() const {
    AlignmentOptions options;
    options.coarse_offset_ns = begin_ns - raw_epoch_ns + 700 * us;
    options.search_ns = 2 * ms;
    return options;
  }
  Result<Alignment> align() const { return align_counters(samples, executions, shapes, device, options()); }

  // The largest error of the mapped times, over the recording.
  double worst_error_ns(const Alignment& alignment, int64_t to_ns) const {
    double worst = 0;
    for (int64_t raw = 0; raw < to_ns; raw += 50 * ms) {
      const ClockMapping* mapping = &alignment.mappings.front();
      for (const ClockMapping& one : alignment.mappings) {
        if (one.from_ns <= raw_epoch_ns + raw) {
          mapping = &one;
        }
      }
      const double mapped = static_cast<double>(raw_epoch_ns - begin_ns + mapping->offset_ns) +
                            static_cast<double>(raw) +
                            mapping->drift_ns_per_s * static_cast<double>(raw_epoch_ns + raw - mapping->from_ns) / 1e9;
      worst = std::max(worst, std::abs(mapped + static_cast<double>(begin_ns) - monotonic(static_cast<double>(raw))));
    }
    return worst;
  }
};

// Kernels of 0.2 to 3 ms with pauses of 0.3 to 5 ms.
void add_separate_kernels(World& world, int64_t duration_ns) {
  int64_t time_ns = begin_ns + 20 * ms;
  while (time_ns < begin_ns + duration_ns) {
    const auto length = static_cast<int64_t>(world.uniform(0.2, 3) * ms);
    world.launch(time_ns, length);
    time_ns += length + static_cast<int64_t>(world.uniform(0.3, 5) * ms);
  }
}

TEST(CounterAlignment, FindsThePlantedOffsetAndDrift) {
  World world;
  add_separate_kernels(world, 4 * second);
  world.sample({});
  const auto alignment = world.align();
  ASSERT_TRUE(alignment) << alignment.error().message();
  EXPECT_LT(world.worst_error_ns(*alignment, 4 * second), 2'000);
  EXPECT_NEAR(alignment->drift_ns_per_s, 2'800, 150);
  EXPECT_LT(alignment->residual_ns, 2'000);
  EXPECT_EQ(alignment->by, AlignedBy::edges);
  EXPECT_GT(alignment->matches, 1'000u);
  for (const ClockMapping& mapping : alignment->mappings) {
    EXPECT_EQ(mapping.source, ClockSource::counters);
    EXPECT_EQ(mapping.device, DeviceId{0});
    ASSERT_TRUE(mapping.residual_ns);
  }
}

TEST(CounterAlignment, FollowsADriftThatChanges) {
  World world;
  world.later_drift = 9e-6;
  add_separate_kernels(world, 70 * second);
  world.sample({.to_ns = 70 * second, .interval_ns = 500 * us});
  const auto alignment = world.align();
  ASSERT_TRUE(alignment) << alignment.error().message();
  EXPECT_GE(alignment->mappings.size(), 2u);
  // A recording of 70 s keeps groups of stretches 8 s apart, with straight lines between: where the drift changes by
  // 6.2 µs/s inside one of these, the chord is off by at most 6.2 × 8 ÷ 4 µs, and nowhere else by anything.
  EXPECT_LT(world.worst_error_ns(*alignment, 70 * second), 13'000);
  EXPECT_LT(world.worst_error_ns(*alignment, 20 * second), 2'000);
}

TEST(CounterAlignment, BearsMissingSamplesAndForeignWork) {
  World world;
  add_separate_kernels(world, 4 * second);
  world.sample({.lost = 0.03, .foreign = 0.1});
  // A second without samples.
  std::erase_if(world.samples, [](const Sample& sample) {
    return sample.start_ns > raw_epoch_ns + second && sample.start_ns < raw_epoch_ns + 2 * second;
  });
  const auto alignment = world.align();
  ASSERT_TRUE(alignment) << alignment.error().message();
  EXPECT_LT(world.worst_error_ns(*alignment, 4 * second), 2'500);
}

// The last wave of a large grid leaves SM after SM idle: falling edges then lie early by half of that, and must not pull
// the offset along. The warps that start say where it is.
TEST(CounterAlignment, KernelsThatFadeOutDoNotMoveTheOffset) {
  World world;
  add_separate_kernels(world, 4 * second);
  world.sample({.fade_ns = 60.0 * us});
  const auto alignment = world.align();
  ASSERT_TRUE(alignment) << alignment.error().message();
  EXPECT_LT(world.worst_error_ns(*alignment, 4 * second), 3'000);
}

TEST(CounterAlignment, WorksAtTenMicroseconds) {
  World world;
  add_separate_kernels(world, second);
  world.sample({.to_ns = second, .interval_ns = 10 * us});
  const auto alignment = world.align();
  ASSERT_TRUE(alignment) << alignment.error().message();
  EXPECT_LT(world.worst_error_ns(*alignment, second), 1'000);
}

// Graph replays of exactly 1 ms, each with a pause inside: a shift by whole periods fits everywhere except where the
// replays begin, pause and end.
void add_replays(World& world, int64_t from_ns, int64_t to_ns) {
  for (int64_t time_ns = from_ns; time_ns < to_ns; time_ns += ms) {
    world.launch(time_ns, 250 * us);
    world.launch(time_ns + 400 * us, 300 * us);
  }
}

TEST(CounterAlignment, ChoosesTheRightPeriodByWhereTheReplaysBegin) {
  World world;
  add_replays(world, begin_ns + 30 * ms, begin_ns + 2 * second);
  add_replays(world, begin_ns + 2 * second + 7 * ms, begin_ns + 4 * second);
  world.sample({.to_ns = 4 * second});
  const auto alignment = world.align();
  ASSERT_TRUE(alignment) << alignment.error().message();
  EXPECT_LT(world.worst_error_ns(*alignment, 4 * second), 2'000);
}

TEST(CounterAlignment, SaysWhenPeriodsCannotBeToldApart) {
  World world;
  add_replays(world, begin_ns - second, begin_ns + 5 * second);
  world.sample({.to_ns = 4 * second});
  // Nothing but replays: the recording began in the middle of them.
  const auto alignment = world.align();
  ASSERT_FALSE(alignment);
  EXPECT_EQ(alignment.error().kind, ErrorKind::unavailable);
  EXPECT_NE(alignment.error().message().find("the workload repeats"), std::string::npos) << alignment.error().message();
}

TEST(CounterAlignment, ReplaysThatJitterAreNotAmbiguous) {
  World world;
  int64_t time_ns = begin_ns - second;
  while (time_ns < begin_ns + 5 * second) {
    world.launch(time_ns, 250 * us);
    world.launch(time_ns + 400 * us, 300 * us);
    time_ns += ms + static_cast<int64_t>(world.uniform(-40, 40) * us);  // a host between two replays
  }
  world.sample({.to_ns = 4 * second});
  const auto alignment = world.align();
  ASSERT_TRUE(alignment) << alignment.error().message();
  EXPECT_LT(world.worst_error_ns(*alignment, 4 * second), 2'000);
}

// Back to back, 20 to 200 µs each, of 20 to 1,056 blocks: no idle moment, but the warps that start say when.
void add_unbroken_work(World& world, int64_t duration_ns) {
  int64_t time_ns = begin_ns - 100 * ms;
  while (time_ns < begin_ns + duration_ns) {
    const auto length = static_cast<int64_t>(world.uniform(20, 200) * us);
    world.launch(time_ns, length, 132 + static_cast<uint32_t>(world.uniform(0, 924)));
    time_ns += length + 1'000;
  }
}

TEST(CounterAlignment, AlwaysBusyDeviceIsAlignedByItsWarps) {
  World world;
  add_unbroken_work(world, 5 * second);
  world.sample({.to_ns = 4 * second});
  const auto alignment = world.align();
  ASSERT_TRUE(alignment) << alignment.error().message();
  EXPECT_LT(world.worst_error_ns(*alignment, 4 * second), 5'000);
  EXPECT_LT(alignment->residual_ns, 5'000);
}

TEST(CounterAlignment, AlwaysBusyDeviceWithoutFlowsIsNotAligned) {
  World world;
  add_unbroken_work(world, 5 * second);
  world.sample({.to_ns = 4 * second, .flows = false});
  const auto alignment = world.align();
  ASSERT_FALSE(alignment);
  EXPECT_NE(alignment.error().message().find("evenly busy"), std::string::npos) << alignment.error().message();
}

// The samples of another device, or of another recording: some offset always fits best, and must not pass for an answer.
TEST(CounterAlignment, UnrelatedSamplesAreNotAligned) {
  for (uint64_t seed : {11, 31, 44}) {  // the three closest calls of sixty
    World world, other;
    world.random.seed(seed);
    other.random.seed(1'000 + seed);
    add_separate_kernels(world, 3 * second);
    add_separate_kernels(other, 3 * second);
    world.sample({.to_ns = 3 * second});
    other.sample({.to_ns = 3 * second});
    world.samples = other.samples;
    const auto alignment = world.align();
    ASSERT_FALSE(alignment) << seed;
    EXPECT_EQ(alignment.error().kind, ErrorKind::unavailable);
  }
}

// Beside a process that keeps the device busy most of the time, edges are no edges any more.
TEST(CounterAlignment, TooMuchForeignWorkIsNotAligned) {
  World world;
  add_separate_kernels(world, 3 * second);
  world.sample({.to_ns = 3 * second, .foreign = 0.7});
  EXPECT_FALSE(world.align());
}

TEST(CounterAlignment, NeedsSamplesAndExecutions) {
  World world;
  EXPECT_NE(world.align().error().what.find("no samples"), std::string::npos);
  world.sample({.to_ns = second});
  EXPECT_NE(world.align().error().what.find("no executions"), std::string::npos);
}

TEST(CounterAlignment, LongRecordingsAreFollowedInBoundedMemory) {
  World world;
  int64_t time_ns = begin_ns + 20 * ms;
  while (time_ns < begin_ns + 900 * second) {
    const auto length = static_cast<int64_t>(world.uniform(2, 12) * ms);
    world.launch(time_ns, length);
    time_ns += length + static_cast<int64_t>(world.uniform(3, 30) * ms);
  }
  world.later_drift = 2.9e-6;
  world.sample({.to_ns = 900 * second, .interval_ns = ms});
  const auto alignment = world.align();
  ASSERT_TRUE(alignment) << alignment.error().message();
  EXPECT_LT(world.worst_error_ns(*alignment, 900 * second), 20'000);  // with samples of 1 ms
}

}  // namespace
}  // namespace kvet::clocks
