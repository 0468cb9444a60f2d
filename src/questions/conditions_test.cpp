#include <gtest/gtest.h>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

constexpr int64_t us = 1'000, ms = 1'000'000, s = 1'000'000'000;

struct Conditions : testing::Test {
  PlantedDevice device;
  ShapeId k = device.kernel("k"), other = device.kernel("other");
  std::vector<Finding> findings;

  const Finding* ask(std::string_view id) {
    findings = conditions(device.capture, device.set("^k$"));
    return find(findings, id);
  }
  double value(std::string_view id) {
    const Finding* finding = ask(id);
    return finding == nullptr ? -1 : finding->value.value_or(-2);
  }
};

// The clock outside K's time does not count.
TEST_F(Conditions, TheClockInItsTime) {
  device.run(k, 7, 0, 3 * ms);
  device.run(other, 7, 5 * ms, 8 * ms);
  device.sample(0, 10 * ms, 100 * us);
  for (Sample& sample : device.capture.samples) {
    const double gigahertz = sample.start_ns < ms ? 1.2 : sample.start_ns < 3 * ms ? 1.5 : 0.3;
    sample.cycles_elapsed = 100'000 * gigahertz;
  }
  EXPECT_NEAR(value("conditions.sm_clock"), 1.5e9, 1) << "20 samples of 30";
  EXPECT_NEAR(value("conditions.sm_clock.min"), 1.2e9, 1);
  EXPECT_NEAR(value("conditions.sm_clock.max"), 1.5e9, 1);
  EXPECT_EQ(ask("conditions.sm_clock")->observations, 30u);
  EXPECT_FALSE(ask("conditions.sm_clock")->advice.empty());
}

TEST_F(Conditions, ASteadyClockNeedsNoAdvice) {
  device.run(k, 7, 0, 3 * ms);
  device.sample(0, 10 * ms, 100 * us);
  EXPECT_NEAR(value("conditions.sm_clock"), 1e9, 1);
  EXPECT_TRUE(ask("conditions.sm_clock")->advice.empty());
}

TEST_F(Conditions, TheClockFromNvmlWhereNothingWasSampled) {
  device.run(k, 7, 0, 2 * s);
  for (int64_t time : {s / 2, s, 3 * s}) {
    DeviceReading reading;
    reading.time_ns = time;
    reading.sm_clock_mhz = time < s ? 1980 : 1200;
    device.capture.device_readings.push_back(reading);
  }
  EXPECT_NEAR(value("conditions.sm_clock.max"), 1.98e9, 1);
  EXPECT_NEAR(value("conditions.sm_clock.min"), 1.2e9, 1);
  EXPECT_EQ(ask("conditions.sm_clock")->observations, 2u) << "the one at 3 s is after it";
  device.capture.device_readings.clear();
  EXPECT_EQ(value("conditions.sm_clock"), -2);
}

TEST_F(Conditions, Turns) {
  device.run(k, 7, 0, 100 * us);
  EXPECT_EQ(value("conditions.time_sliced"), -1);
  device.run(other, 7, 75 * us, 200 * us).process = {1};
  EXPECT_NEAR(value("conditions.time_sliced"), 25, 1e-9);
}

TEST_F(Conditions, DependentLaunches) {
  device.run(other, 7, 0, 100);
  device.run(k, 7, 90, 200);
  device.run(k, 7, 200, 300);
  EXPECT_EQ(value("conditions.dependent_launch"), 50) << "one of two, by 10 ns";
  EXPECT_EQ(ask("conditions.dependent_launch")->sentence.find("graph"), std::string::npos);
  device.run(other, 7, 1000, 1100).graph_node_id = 1;
  Execution& node = device.run(k, 7, 1080, 1200);
  node.graph_node_id = 2;
  node.correlation_id = device.capture.executions[3].correlation_id;
  EXPECT_NEAR(value("conditions.dependent_launch"), 100.0 * 2 / 3, 1e-9);
  EXPECT_NE(ask("conditions.dependent_launch")->sentence.find("1 of these are graph nodes. Edges of graphs"),
            std::string::npos)
      << ask("conditions.dependent_launch")->sentence;
}

TEST_F(Conditions, NoDependentLaunchNoWord) {
  device.run(other, 8, 0, 100);
  device.run(k, 7, 90, 200);
  EXPECT_EQ(value("conditions.dependent_launch"), -1) << "that is a sibling, in another stream";
}

// One execution of 30 s in a recording of 10 s.
TEST_F(Conditions, LongerThanTheRecording) {
  device.capture.meta["record.start_ns"] = std::to_string(10 * s);
  device.capture.meta["record.end_ns"] = std::to_string(20 * s);
  device.run(k, 7, 0, 30 * s);
  device.sample(10 * s, 20 * s, ms);
  EXPECT_EQ(value("conditions.cut"), 1);
  EXPECT_NEAR(value("conditions.sampled"), 100.0 / 3, 0.01);
  EXPECT_FALSE(ask("conditions.sampled")->advice.empty());
  device.run(k, 7, 31 * s, 31 * s + 5);
  EXPECT_EQ(value("conditions.cut"), 2) << "after it";
}

// Kernels of 2 us and samples of 100 us: covered, at a known clock.
TEST_F(Conditions, ShorterThanASample) {
  for (int64_t at = 0; at < 10 * ms; at += 20 * us) {
    device.run(k, 7, at, at + 2 * us);
  }
  device.sample(0, 10 * ms, 100 * us);
  EXPECT_NEAR(value("conditions.sampled"), 100, 1e-9);
  EXPECT_NEAR(value("conditions.sm_clock"), 1e9, 1);
  EXPECT_EQ(value("conditions.cut"), -1);
}

TEST_F(Conditions, NeverRan) {
  EXPECT_EQ(value("conditions.sm_clock"), -2);
  EXPECT_EQ(findings.size(), 1u);
}

}  // namespace
}  // namespace kvet::questions
