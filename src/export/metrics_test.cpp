#include "export/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvet::exporting {
namespace {

Finding finding(const std::string& id, double value, const std::string& unit) {
  Finding out;
  out.id = id;
  out.value = value;
  out.unit = unit;
  out.evidence = Evidence::measured;
  return out;
}

class Metrics : public ::testing::Test {
 protected:
  void SetUp() override {
    capture_.strings = {"", "k", "NVIDIA H200"};
    capture_.devices.resize(1);
    Device& device = capture_.devices[0];
    device.name = {2};
    for (size_t index = 0; index < device.uuid.size(); ++index) {
      device.uuid[index] = static_cast<uint8_t>(0x10 + index);
    }
    capture_.shapes.resize(1);
    capture_.shapes[0].name = {1};
    source_.capture = &capture_;
    source_.label = [](std::string_view raw) { return std::string{raw}; };
  }

  const Metric* metric(const std::string& prometheus_name) {
    const auto found = std::find_if(metrics_.begin(), metrics_.end(),
                                    [&](const Metric& each) { return each.prometheus_name == prometheus_name; });
    return found == metrics_.end() ? nullptr : &*found;
  }
  // Of a metric with one point.
  double value(const std::string& prometheus_name) {
    const Metric* found = metric(prometheus_name);
    return found == nullptr || found->points.size() != 1 ? std::nan("") : found->points[0].value;
  }
  void make(Readings readings = Readings::mean) { metrics_ = metrics_of(source_, readings); }

  Capture capture_;
  MetricsSource source_;
  std::vector<Metric> metrics_;
};

const std::string* attribute(const Point& point, std::string_view name) {
  for (const Attribute& each : point.attributes) {
    if (each.name == name) {
      return &each.value;
    }
  }
  return nullptr;
}

TEST_F(Metrics, FindingsAreInBaseUnitsAndUnavailableOnesAreAbsent) {
  Finding solo = finding("occupancy.solo", 42, "%");
  solo.interval = Interval{40, 44};
  solo.subject = "k";
  Finding unknown;
  unknown.id = "dram.solo";
  unknown.unit = "bytes/s";
  unknown.reason = "no samples";
  source_.kernels = {{"k", {solo, unknown}}};
  make();
  EXPECT_DOUBLE_EQ(value("kvet_occupancy_solo_ratio"), 0.42);
  EXPECT_DOUBLE_EQ(value("kvet_occupancy_solo_interval_low_ratio"), 0.40);
  EXPECT_DOUBLE_EQ(value("kvet_occupancy_solo_interval_high_ratio"), 0.44);
  EXPECT_EQ(metric("kvet_dram_solo_bytes_per_second"), nullptr);
  const Point& point = metric("kvet_occupancy_solo_ratio")->points[0];
  EXPECT_EQ(*attribute(point, "kvet.kernel"), "k");
  EXPECT_EQ(*attribute(point, "kvet.evidence"), "measured");
  EXPECT_EQ(attribute(point, "kvet.subject"), nullptr);
  const Metric* counts = metric("kvet_capture_findings");
  ASSERT_NE(counts, nullptr);
  for (const Point& each : counts->points) {
    const std::string& evidence = *attribute(each, "kvet.evidence");
    EXPECT_EQ(each.value, evidence == "measured" || evidence == "unavailable" ? 1 : 0) << evidence;
  }
}

TEST_F(Metrics, ReadingsAreAMeanOrASeries) {
  for (int index = 0; index < 3; ++index) {
    DeviceReading reading;
    reading.time_ns = 1000 * index;
    if (index != 1) {  // nothing is read as 0
      reading.power_milliwatts = index == 0 ? 100'500 : 300'500;
      reading.throttle_reasons = index == 0 ? 0x4 : 0x24;
    }
    reading.sm_clock_mhz = 1980;
    capture_.device_readings.push_back(reading);
  }
  make();
  EXPECT_EQ(value("hw_power_watts"), 200.5);
  EXPECT_EQ(value("DCGM_FI_DEV_POWER_USAGE"), 200.5);
  EXPECT_EQ(value("kvet_nvml_sm_clock_hertz"), 1.98e9);
  EXPECT_EQ(value("DCGM_FI_DEV_SM_CLOCK"), 1980);  // DCGM counts in MHz
  EXPECT_EQ(value("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"), 0x24);
  EXPECT_EQ(metric("hw_temperature_celsius"), nullptr);
  for (const Point& point : metric("kvet_nvml_clock_event_ratio")->points) {
    const std::string& reason = *attribute(point, "kvet.reason");
    EXPECT_EQ(point.value, reason == "sw_power_cap" ? 1 : reason == "sw_thermal_slowdown" ? 0.5 : 0) << reason;
  }
  make(Readings::every);
  const Metric* power = metric("hw_power_watts");
  ASSERT_EQ(power->points.size(), 2u);
  EXPECT_EQ(power->points[0].time_ns, 0);
  EXPECT_EQ(power->points[1].time_ns, 2000);
  EXPECT_EQ(power->points[1].value, 300.5);
}

TEST_F(Metrics, DevicesAreCalledAsNvidiasToolsCallThem) {
  capture_.devices[0].memory_bytes = uint64_t{141} << 30;
  make();
  const Metric* limit = metric("hw_gpu_memory_limit_bytes");
  ASSERT_NE(limit, nullptr);
  EXPECT_EQ(*attribute(limit->points[0], "hw.id"), "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
  EXPECT_EQ(*attribute(limit->points[0], "hw.type"), "gpu");
  const Point& framebuffer = metric("DCGM_FI_DEV_FB_TOTAL")->points[0];
  EXPECT_EQ(framebuffer.value, 141 * 1024);  // MiB
  EXPECT_EQ(*attribute(framebuffer, "gpu"), "0");
  EXPECT_EQ(*attribute(framebuffer, "UUID"), "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
  capture_.devices[0].uuid = {};  // imported
  make();
  EXPECT_EQ(*attribute(metric("hw_gpu_memory_limit_bytes")->points[0], "hw.id"), "gpu0");
  EXPECT_EQ(attribute(metric("DCGM_FI_DEV_FB_TOTAL")->points[0], "UUID"), nullptr);
}

TEST_F(Metrics, SamplesStandInForGpmUnderDcgmsNames) {
  capture_.devices[0].memory_bandwidth_bytes_per_s = 4'000'000'000'000;
  Finding occupancy = finding("occupancy.device", 25, "%"), dram = finding("dram.device", 1e12, "bytes/s");
  occupancy.beside = dram.beside = "device 0, NVIDIA H200";
  source_.findings = {occupancy, dram};
  make();
  EXPECT_EQ(value("DCGM_FI_PROF_SM_OCCUPANCY"), 0.25);
  EXPECT_EQ(value("DCGM_FI_PROF_DRAM_ACTIVE"), 0.25);
  EXPECT_EQ(metric("kvet_nvml_sm_occupancy_ratio"), nullptr);  // GPM's own
  EXPECT_EQ(*attribute(metric("kvet_dram_device_bytes_per_second")->points[0], "hw.id"),
            "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
}

TEST_F(Metrics, LossesAndKernelsAddUp) {
  capture_.losses = {{Source::cupti, LossKind::batch_gap, {}, 5, {}, {}},
                     {Source::cupti, LossKind::batch_gap, {}, 7, {}, {}}};
  Execution execution;
  execution.end_ns = 1'500'000'000;
  capture_.executions = {execution, execution};
  make();
  EXPECT_EQ(value("kvet_capture_lost_records_total"), 12);
  EXPECT_EQ(value("kvet_kernel_executions_total"), 2);
  EXPECT_EQ(value("kvet_kernel_time_seconds_total"), 3);
}

TEST_F(Metrics, NothingIsThereTwiceAndNothingIsNotANumber) {
  const Finding twice = finding("nccl.call.p50", 5, "ns");
  source_.findings = {twice, twice, finding("dram.device", std::numeric_limits<double>::quiet_NaN(), "bytes/s"),
                      finding("device.sm_clock", std::numeric_limits<double>::infinity(), "Hz")};
  make();
  const Metric* call = metric("kvet_nccl_call_seconds");
  ASSERT_EQ(call->points.size(), 2u);
  EXPECT_EQ(attribute(call->points[0], "kvet.ordinal"), nullptr);
  EXPECT_EQ(*attribute(call->points[1], "kvet.ordinal"), "2");
  EXPECT_EQ(metric("kvet_dram_device_bytes_per_second"), nullptr);
  EXPECT_EQ(metric("kvet_device_sm_clock_hertz"), nullptr);
}

}  // namespace
}  // namespace kvet::exporting
