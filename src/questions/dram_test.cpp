#include <gtest/gtest.h>

#include <random>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

using Load = PlantedDevice::Load;

const Finding& expect_value(const std::vector<Finding>& findings, std::string_view id, double value, double relative,
                            Evidence evidence) {
  static const Finding nothing;
  const Finding* finding = find(findings, id);
  EXPECT_NE(finding, nullptr) << id;
  if (finding == nullptr) {
    return nothing;
  }
  EXPECT_TRUE(finding->value) << id << ": " << finding->reason;
  EXPECT_NEAR(finding->value.value_or(-1), value, relative * value + 1e-9) << id;
  EXPECT_EQ(finding->evidence, evidence) << id;
  return *finding;
}

void expect_unavailable(const std::vector<Finding>& findings, std::string_view id, std::string_view reason) {
  const Finding* finding = find(findings, id);
  ASSERT_NE(finding, nullptr) << id;
  EXPECT_EQ(finding->evidence, Evidence::unavailable);
  EXPECT_FALSE(finding->value);
  EXPECT_NE(finding->reason.find(reason), std::string::npos) << finding->reason;
  EXPECT_FALSE(finding->advice.empty());
}

// 1.2 TB/s read and 0.6 TB/s written, 100 us at a time, idle between: 1.8e12 of 4.8e12 B/s are 37.5%; 180 MB a time.
TEST(Dram, Solo) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k");
  for (int64_t at = 0; at < 5'000'000; at += 501'300) {
    device.run(k, 7, at + 100'000, at + 200'000, Load{.read_bytes_per_ns = 1200, .write_bytes_per_ns = 600});
  }
  device.sample(0, 5'500'000, 10'000);
  const auto findings = dram(device.capture, device.set("k"));
  expect_value(findings, "dram.solo", 1.8e12, 1e-9, Evidence::measured);
  expect_value(findings, "dram.solo.percent", 37.5, 1e-9, Evidence::measured);
  expect_value(findings, "dram.solo.read", 1.2e12, 1e-9, Evidence::measured);
  expect_value(findings, "dram.solo.write", 0.6e12, 1e-9, Evidence::measured);
  expect_value(findings, "dram.bytes_per_execution", 1.8e8, 1e-9, Evidence::measured);
  expect_value(findings, "dram.saturated", 0, 0, Evidence::measured);
  expect_unavailable(findings, "dram.corun.device", "no sibling");
}

// An earlier kernel's dirty lines go out during K's first 20 us (twice the time that 48 MB take at 4.8 TB/s): those samples
// do not count. A copy spoils what it overlaps, and 20 us after.
TEST(Dram, GuardBandAfterOtherWriters) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), writer = device.kernel("writer");
  for (int64_t at = 0; at < 5'000'000; at += 500'000) {
    device.run(writer, 7, at, at + 50'000, Load{.write_bytes_per_ns = 3000});
    device.run(k, 7, at + 50'000, at + 150'000, Load{.read_bytes_per_ns = 1000});
    device.ghost(at + 50'000, at + 68'000, Load{.write_bytes_per_ns = 2000});
    device.run(k, 7, at + 250'000, at + 350'000, Load{.read_bytes_per_ns = 1000});
    device.transfer(at + 300'000, at + 310'000, 50);
    device.ghost(at + 310'000, at + 325'000, Load{.write_bytes_per_ns = 40});
  }
  device.sample(0, 5'000'000, 5'000);
  const auto findings = dram(device.capture, device.set("^k"));
  expect_value(findings, "dram.solo", 1e12, 1e-9, Evidence::measured);
  expect_value(findings, "dram.solo.write", 0, 0, Evidence::measured);
}

TEST(Dram, BesideSiblings) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), sibling = device.kernel("sibling");
  for (int64_t at = 0; at < 5'000'000; at += 500'000) {
    device.run(k, 7, at, at + 200'000, Load{.read_bytes_per_ns = 1000});
    device.run(sibling, 8, at + 100'000, at + 250'000, Load{.read_bytes_per_ns = 500, .write_bytes_per_ns = 900});
  }
  device.sample(0, 5'000'000, 10'000);
  const auto findings = dram(device.capture, device.set("^k"));
  expect_value(findings, "dram.corun.device", 2.4e12, 1e-9, Evidence::measured);
  expect_value(findings, "dram.corun.device.percent", 50, 1e-9, Evidence::measured);
  expect_unavailable(findings, "dram.solo", "no execution was alone");
}

// Not calibrated: 90% of 92% of 4.8e12 is 3.974e12 B/s: a quarter of K's time above it, three quarters just below.
TEST(Dram, SaturatedTimeByTheSpecification) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), sibling = device.kernel("sibling");
  for (int64_t at = 0; at < 4'000'000; at += 1'000'000) {
    device.run(k, 7, at, at + 400'000, Load{.read_bytes_per_ns = 3960});
    device.run(sibling, 8, at + 300'000, at + 400'000, Load{.read_bytes_per_ns = 20});
  }
  device.sample(0, 4'000'000, 10'000);
  const auto findings = dram(device.capture, device.set("k"));
  const Finding saturated = expect_value(findings, "dram.saturated", 25, 1e-9, Evidence::measured);
  EXPECT_NE(saturated.sentence.find("92% of its theoretical peak"), std::string::npos) << saturated.sentence;
}

// Calibrated: reads reach 4.6e12, an even mix 4.0e12. A copy at 3.7e12 is above 90% of what its mix allows, a read is not.
TEST(Dram, SaturatedTimeAtTheMixThatWasCalibrated) {
  PlantedDevice device;
  const std::string stem = "calibration.dram.00000000000000000000000000000000.";
  device.capture.meta[stem + "read"] = "4600000000000";
  device.capture.meta[stem + "write"] = "4200000000000";
  device.capture.meta[stem + "read_write_1_1"] = "4000000000000";
  const ShapeId copy = device.kernel("copy"), read = device.kernel("read");
  for (int64_t at = 0; at < 4'000'000; at += 1'000'000) {
    device.run(copy, 7, at, at + 400'000, Load{.read_bytes_per_ns = 1850, .write_bytes_per_ns = 1850});
    device.run(read, 7, at + 500'000, at + 900'000, Load{.read_bytes_per_ns = 3700});
  }
  device.sample(0, 4'000'000, 10'000);
  const Finding saturated =
      expect_value(dram(device.capture, device.set("copy")), "dram.saturated", 100, 1e-9, Evidence::measured);
  EXPECT_NE(saturated.sentence.find("as calibrated on this device"), std::string::npos) << saturated.sentence;
  expect_value(dram(device.capture, device.set("read")), "dram.saturated", 0, 1e-9, Evidence::measured);
}

// Kernels of a few microseconds back to back, with copies now and then: attributed by splitting.
TEST(Dram, ShortKernelsAreSplit) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other");
  std::mt19937 random{4};
  int64_t at = 0;
  for (int i = 0; i < 3000; ++i) {
    const int64_t own = 2000 + static_cast<int64_t>(random() % 3000),
                  theirs = 2000 + static_cast<int64_t>(random() % 6000);
    device.run(k, 7, at, at + own, Load{.read_bytes_per_ns = 3000});
    device.run(other, 7, at + own, at + own + theirs, Load{.read_bytes_per_ns = 300, .write_bytes_per_ns = 200});
    if (i % 20 == 0) {
      device.transfer(at, at + 7'000, 55);
    }
    at += own + theirs;
  }
  device.sample(0, at, 10'000);
  const auto findings = dram(device.capture, device.set("^k"));
  const Finding solo = expect_value(findings, "dram.solo", 3e12, 1e-3, Evidence::attributed);
  EXPECT_TRUE(solo.interval);
  // It writes nothing, and that is known; its neighbour writes.
  const Finding* write = find(findings, "dram.solo.write");
  ASSERT_TRUE(write != nullptr && write->value);
  EXPECT_LT(*write->value, 0.01e12);
}

TEST(Dram, NeverEmptyAndNeverZeroForUnknown) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k");
  device.run(k, 7, 0, 100'000);
  device.sample(0, 200'000, 10'000);
  for (Sample& sample : device.capture.samples) {
    sample.dram_read_bytes.reset();
  }
  auto findings = dram(device.capture, device.set("k"));
  for (const char* id : {"dram.solo", "dram.solo.read", "dram.bytes_per_execution", "dram.saturated"}) {
    expect_unavailable(findings, id, "no DRAM bytes");
  }
  device.capture.samples.clear();
  findings = dram(device.capture, device.set("k"));
  expect_unavailable(findings, "dram.solo", "no counter samples");
  device.capture.executions.clear();
  expect_unavailable(dram(device.capture, device.set("k")), "dram.solo", "no executions");
}

// Where the driver did not say the peak, rates are still measured, and shares of it are not made up.
TEST(Dram, UnknownPeak) {
  PlantedDevice device;
  device.capture.devices[0].memory_bandwidth_bytes_per_s = 0;
  const ShapeId k = device.kernel("k");
  device.run(k, 7, 100'000, 300'000, Load{.read_bytes_per_ns = 100});
  device.sample(0, 500'000, 10'000);
  const auto findings = dram(device.capture, device.set("k"));
  expect_value(findings, "dram.solo", 1e11, 1e-9, Evidence::measured);
  EXPECT_EQ(find(findings, "dram.solo.percent"), nullptr);
  expect_unavailable(findings, "dram.saturated", "peak bandwidth is not in this capture");
}

}  // namespace
}  // namespace kvet::questions
