#include "questions/sensitivity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

// Durations of 100 us + 20 us per TB/s, with noise that is alike within a block.
std::vector<SensitivityPoint> planted(uint64_t seed, double at_rest, double per_byte, double noise) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> bandwidth{0, 3e12};
  std::vector<SensitivityPoint> points;
  for (size_t block = 0; block < 25; ++block) {
    const double shared = noise * normal(random), around = bandwidth(random);
    for (int i = 0; i < 12; ++i) {
      const double at = 0.5 * around + 0.5 * bandwidth(random);
      points.push_back({at, at_rest + per_byte * at + shared + noise * normal(random), block});
    }
  }
  return points;
}

TEST(Sensitivity, FindsThePlantedSlope) {
  const auto line = sensitivity_line(planted(1, 100'000, 2e-8, 0));
  ASSERT_TRUE(line);
  EXPECT_NEAR(line->slope, 2e-8, 1e-14);
  EXPECT_NEAR(line->at_rest, 100'000, 1e-3);
}

TEST(Sensitivity, IntervalsHoldTheTruthAsOftenAsTheySay) {
  int inside = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const auto line = sensitivity_line(planted(seed, 100'000, 2e-8, 5000));
    ASSERT_TRUE(line && line->slope_interval);
    inside += line->slope_interval->low <= 2e-8 && 2e-8 <= line->slope_interval->high ? 1 : 0;
  }
  EXPECT_GE(inside, 920);
  EXPECT_LE(inside, 980);
}

// 100 us + 20 us per TB/s against 80 us + 30 us per TB/s: equal at 2 TB/s.
TEST(Sensitivity, WhereTheGainEnds) {
  const auto baseline = sensitivity_line(planted(1, 100'000, 2e-8, 1000)),
             candidate = sensitivity_line(planted(2, 80'000, 3e-8, 1000));
  const auto end = gain_ends_at(*baseline, *candidate);
  ASSERT_TRUE(end && end->interval);
  EXPECT_NEAR(end->bytes_per_s, 2e12, 0.2e12);
  EXPECT_LE(end->interval->low, 2e12);
  EXPECT_GE(end->interval->high, 2e12);
  EXPECT_FALSE(gain_ends_at(*candidate, *baseline)) << "the baseline is no gain over the candidate at rest";
  const auto steady = sensitivity_line(planted(3, 80'000, 2.1e-8, 100));
  EXPECT_FALSE(gain_ends_at(*baseline, *steady)) << "beyond what was seen";
}

TEST(Sensitivity, TooLittleOrAbsurd) {
  EXPECT_FALSE(sensitivity_line({}));
  std::vector<SensitivityPoint> same(100, {1e12, 1000, 0});
  for (size_t i = 0; i < same.size(); ++i) {
    same[i].block = i / 5;
  }
  EXPECT_FALSE(sensitivity_line(same)) << "the bandwidth never changes";
  auto points = planted(1, 100'000, 2e-8, 0);
  points.push_back({std::numeric_limits<double>::quiet_NaN(), 1, 1});
  points.push_back({1e300, 1, 1});
  points.push_back({1, 1e300, 1});
  points.push_back({1, -5, 1});
  EXPECT_NEAR(sensitivity_line(points)->slope, 2e-8, 1e-14);
}

// K alone takes 100 us and moves 100 MB; beside a sibling of 1 TB/s 120 us: 2% for each 100 GB/s.
TEST(Sensitivity, OfACapture) {
  PlantedDevice device;
  using Load = PlantedDevice::Load;
  const ShapeId k = device.kernel("k"), sibling = device.kernel("sibling");
  for (int i = 0; i < 120; ++i) {
    const int64_t at = 400'000 * i;
    const int64_t length = i % 2 == 0 ? 100'000 : 120'000;
    device.run(k, 7, at, at + length, Load{.read_bytes_per_ns = 1e8 / static_cast<double>(length)});
    if (i % 2 == 1) {
      device.run(sibling, 8, at, at + length, Load{.read_bytes_per_ns = 1000});
    }
  }
  device.sample(0, 48'000'000, 10'000);
  const auto findings = dram(device.capture, device.set("^k$"));
  const Finding* finding = find(findings, "dram.sensitivity");
  ASSERT_NE(finding, nullptr);
  ASSERT_TRUE(finding->value) << finding->reason;
  EXPECT_NEAR(*finding->value, 2, 0.02);
  EXPECT_EQ(finding->evidence, Evidence::attributed);
}

}  // namespace
}  // namespace kvet::questions
