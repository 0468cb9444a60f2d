#include "questions/locality.h"

#include <gtest/gtest.h>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

using Load = PlantedDevice::Load;

// Executions of 100 us, all alone.
PlantedDevice alone(double bytes_per_ns) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k");
  for (int64_t at = 0; at < 10'000'000; at += 501'300) {
    device.run(k, 7, at + 100'000, at + 200'000, Load{.read_bytes_per_ns = bytes_per_ns});
  }
  device.sample(0, 11'000'000, 10'000);
  return device;
}

// 180 MB an execution in the workload, 60 MB in the microbenchmark.
TEST(Locality, BytesPerExecutionHereOverIsolated) {
  const PlantedDevice here = alone(1800), isolated = alone(600);
  const Finding finding = locality(here.capture, here.set("k"), isolated.capture, isolated.set("k"));
  ASSERT_TRUE(finding.value) << finding.reason;
  EXPECT_NEAR(*finding.value, 3, 1e-9);
  EXPECT_EQ(finding.evidence, Evidence::attributed);
  ASSERT_TRUE(finding.interval);
  EXPECT_LE(finding.interval->low, 3);
  EXPECT_GE(finding.interval->high, 3);
  EXPECT_NE(finding.sentence.find("lived partly in L2"), std::string::npos);
}

TEST(Locality, SameInBoth) {
  const PlantedDevice here = alone(1800);
  const Finding finding = locality(here.capture, here.set("k"), here.capture, here.set("k"));
  EXPECT_NEAR(finding.value.value_or(0), 1, 1e-9);
  EXPECT_EQ(finding.sentence.find("L2"), std::string::npos);
}

TEST(Locality, NothingIsolatedIsNoRatio) {
  const PlantedDevice here = alone(1800), isolated = alone(0);
  const Finding finding = locality(here.capture, here.set("k"), isolated.capture, isolated.set("k"));
  EXPECT_EQ(finding.evidence, Evidence::unavailable);
  EXPECT_NE(finding.reason.find("lived in L2"), std::string::npos);
  EXPECT_FALSE(finding.advice.empty());
}

TEST(Locality, SaysWhichCaptureLacksIt) {
  const PlantedDevice here = alone(1800);
  PlantedDevice blind = alone(600);
  blind.capture.samples.clear();
  const Finding finding = locality(here.capture, here.set("k"), blind.capture, blind.set("k"));
  EXPECT_EQ(finding.evidence, Evidence::unavailable);
  EXPECT_NE(finding.reason.find("in the isolated capture"), std::string::npos) << finding.reason;
}

}  // namespace
}  // namespace kvet::questions
