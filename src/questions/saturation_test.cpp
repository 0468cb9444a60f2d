#include "questions/saturation.h"

#include <gtest/gtest.h>

#include <limits>

namespace kvet::questions {
namespace {

struct Calibrated {
  Capture capture;
  Device device;
  Calibrated() {
    device.uuid = {0x01, 0xab};
    device.memory_bandwidth_bytes_per_s = 4'800'000'000'000;
  }
  void fact(const char* name, const char* value) {
    capture.meta[std::string{"calibration.dram.01ab0000000000000000000000000000."} + name] = value;
  }
  void facts() {
    fact("read", "4600000000000");
    fact("write", "4200000000000");
    fact("read_write_1_1", "4000000000000");
    fact("read_write_2_1", "4300000000000.5");
  }
  [[nodiscard]] ReachableBandwidth reachable() const { return {capture, device}; }
};

Sample moving(double read, double write) {
  Sample sample;
  sample.end_ns = 1000;
  sample.dram_read_bytes = read;
  sample.dram_write_bytes = write;
  return sample;
}

TEST(Saturation, InterpolatesOverTheShareOfReads) {
  Calibrated planted;
  planted.facts();
  const ReachableBandwidth reachable = planted.reachable();
  EXPECT_TRUE(reachable.calibrated());
  EXPECT_DOUBLE_EQ(reachable.at(0), 4.2e12);
  EXPECT_DOUBLE_EQ(reachable.at(0.25), 4.1e12);
  EXPECT_DOUBLE_EQ(reachable.at(0.5), 4.0e12);
  EXPECT_NEAR(reachable.at(2.0 / 3), 4.3e12, 1e6);
  EXPECT_NEAR(reachable.at(5.0 / 6), 4.45e12, 1e6);
  EXPECT_DOUBLE_EQ(reachable.at(1), 4.6e12);
}

// 90% of 4.6e12 B/s are 4.14e6 bytes in a microsecond.
TEST(Saturation, NinetyPercentOfWhatTheMixAllows) {
  Calibrated planted;
  planted.facts();
  const ReachableBandwidth reachable = planted.reachable();
  EXPECT_EQ(reachable.saturated(moving(4.141e6, 0)), true);
  EXPECT_EQ(reachable.saturated(moving(4.139e6, 0)), false);
  EXPECT_EQ(reachable.saturated(moving(1.801e6, 1.801e6)), true);
  EXPECT_EQ(reachable.saturated(moving(0, 0)), false);
}

TEST(Saturation, WithoutACalibrationTheSpecification) {
  Calibrated planted;
  planted.facts();
  planted.fact("write", "nan");
  EXPECT_FALSE(planted.reachable().calibrated());
  EXPECT_DOUBLE_EQ(planted.reachable().at(0.3), 0.92 * 4.8e12);
  for (const char* absurd : {"", "-1", "1e300", "0", "4e12x", "inf"}) {
    planted.facts();
    planted.fact("read", absurd);
    EXPECT_FALSE(planted.reachable().calibrated()) << absurd;
  }
  planted.device.memory_bandwidth_bytes_per_s = 0;
  EXPECT_FALSE(planted.reachable().known());
  EXPECT_EQ(planted.reachable().saturated(moving(1, 1)), std::nullopt);
}

TEST(Saturation, OfAnotherDevice) {
  Calibrated planted;
  planted.facts();
  planted.device.uuid[15] = 1;
  EXPECT_FALSE(planted.reachable().calibrated());
}

TEST(Saturation, ImplausibleCountsAreNotKnown) {
  Calibrated planted;
  planted.facts();
  const ReachableBandwidth reachable = planted.reachable();
  for (double absurd :
       {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(reachable.saturated(moving(absurd, 1)), std::nullopt) << absurd;
    EXPECT_EQ(reachable.saturated(moving(1, absurd)), std::nullopt) << absurd;
  }
  Sample only_reads = moving(4.5e6, 0);
  only_reads.dram_write_bytes.reset();
  EXPECT_EQ(reachable.saturated(only_reads), std::nullopt);
}

}  // namespace
}  // namespace kvet::questions
