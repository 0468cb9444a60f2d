// How far samples and executions may be apart, by what the clock mappings say.
#include "questions/counter_pool.h"

#include <gtest/gtest.h>

namespace kvet::questions {
namespace {

Capture with_mappings(std::vector<ClockMapping> mappings) {
  Capture capture;
  capture.devices.emplace_back();
  Sample sample;
  sample.start_ns = 1'000'000;
  sample.end_ns = 1'100'000;
  capture.samples.push_back(sample);
  for (ClockMapping& mapping : mappings) {
    mapping.source = ClockSource::counters;
    mapping.device = DeviceId{0};
  }
  capture.clock_mappings = std::move(mappings);
  return capture;
}

ClockMapping verified(int64_t from_ns, int64_t residual_ns, std::optional<int64_t> p95_ns = {},
                      std::optional<int64_t> start_bias_ns = {}, std::optional<int64_t> end_bias_ns = {}) {
  ClockMapping mapping;
  mapping.from_ns = from_ns;
  mapping.residual_ns = residual_ns;
  mapping.residual_p95_ns = p95_ns;
  mapping.start_bias_ns = start_bias_ns;
  mapping.end_bias_ns = end_bias_ns;
  return mapping;
}

TEST(CounterPool, TheGuardIsTheNinetyFifthPercentileAndTheLargerBias) {
  const auto device = device_samples(with_mappings({verified(0, 700, 2'900, 1'100, 300)}), DeviceId{0});
  EXPECT_EQ(device.guard_ns, 2'900 + 1'100);
  const auto early = device_samples(with_mappings({verified(0, 700, 2'900, -200, 1'500)}), DeviceId{0});
  EXPECT_EQ(early.guard_ns, 2'900 + 1'500);
}

TEST(CounterPool, WithoutAPercentileItIsThreeTimesTheMedian) {
  EXPECT_EQ(device_samples(with_mappings({verified(0, 700)}), DeviceId{0}).guard_ns, 2'100);
}

TEST(CounterPool, TheWorstPieceDecides) {
  const auto device =
      device_samples(with_mappings({verified(0, 700, 2'000), verified(500'000, 900, 4'000)}), DeviceId{0});
  EXPECT_EQ(device.guard_ns, 4'000);
}

TEST(CounterPool, AnUnverifiedPieceLeavesItUnknown) {
  ClockMapping rough;
  rough.from_ns = 500'000;
  const auto device = device_samples(with_mappings({verified(0, 700, 2'000), rough}), DeviceId{0});
  EXPECT_FALSE(device.guard_ns);
  EXPECT_FALSE(device.reason.empty());
}

TEST(CounterPool, AbsurdValuesOverflowNothing) {
  const int64_t most = 4'000'000'000'000'000'000;
  const auto device = device_samples(with_mappings({verified(0, most, most, -most, most)}), DeviceId{0});
  EXPECT_EQ(device.guard_ns, 2'000'000'000);
}

}  // namespace
}  // namespace kvet::questions
