#include <gtest/gtest.h>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

double value(const PlantedDevice& device, std::string_view id, std::string_view beside = {}) {
  const auto findings = quality(device.capture);
  const Finding* finding = find(findings, id, beside);
  return finding != nullptr ? finding->value.value_or(-2) : -1;
}

// Half of the time 40% of the slots and 1000 B/ns, else nothing, at 1 GHz: without any execution.
TEST(DeviceFigures, WithoutExecutions) {
  PlantedDevice device;
  device.ghost(0, 500'000, {.warps = 0.4 * PlantedDevice::slots, .read_bytes_per_ns = 900, .write_bytes_per_ns = 100});
  device.sample(0, 1'000'000, 10'000);
  EXPECT_NEAR(value(device, "occupancy.device"), 20, 1e-9);
  EXPECT_NEAR(value(device, "dram.device"), 0.5e12, 1);
  EXPECT_NEAR(value(device, "device.sm_clock"), 1e9, 1e-3);
  EXPECT_EQ(value(device, "device.throttled"), -1) << "no readings, no finding";
}

// Only the part that counts.
TEST(DeviceFigures, Window) {
  PlantedDevice device;
  device.ghost(0, 500'000, {.warps = 0.4 * PlantedDevice::slots});
  device.sample(0, 1'000'000, 10'000);
  device.capture.meta["window.from_ns"] = "250000";
  device.capture.meta["window.to_ns"] = "750000";
  EXPECT_NEAR(value(device, "occupancy.device"), 20, 1e-9);
  device.capture.meta["window.to_ns"] = "500000";
  EXPECT_NEAR(value(device, "occupancy.device"), 40, 1e-9);
}

// A sample that counts more warps than the SMs have slots says nothing: it was edited, or read wrongly.
TEST(DeviceFigures, ASampleOfTheImpossibleIsLeftOut) {
  PlantedDevice device;
  device.ghost(0, 500'000, {.warps = 0.4 * PlantedDevice::slots});
  device.sample(0, 1'000'000, 10'000);
  Sample& edited = device.capture.samples[10];
  ASSERT_GT(*edited.warp_cycles, 0);
  edited.warp_cycles = *edited.warp_cycles * 3;  // 120% of the slots
  // 49 of 99 samples with 40%.
  EXPECT_NEAR(value(device, "occupancy.device"), 40.0 * 49 / 99, 1e-9);
}

// 0x4 is the power cap; 0x1, idle, holds nobody back.
TEST(DeviceFigures, Throttled) {
  PlantedDevice device;
  for (uint64_t reasons : {0x0, 0x1, 0x4, 0x41}) {
    DeviceReading reading;
    reading.throttle_reasons = reasons;
    device.capture.device_readings.push_back(reading);
  }
  device.capture.device_readings.push_back({});  // not known: does not count
  EXPECT_EQ(value(device, "device.throttled"), 50);
}

TEST(DeviceFigures, EachDeviceByItself) {
  PlantedDevice device;
  Device second = device.capture.devices[0];
  second.id = {1};
  device.capture.devices.push_back(second);
  device.ghost(0, 100'000, {.warps = 0.5 * PlantedDevice::slots});
  device.sample(0, 100'000, 10'000);
  Sample idle;
  idle.device = {1};
  idle.end_ns = 10'000;
  idle.cycles_elapsed = 10'000;
  idle.warp_cycles = 0;
  device.capture.samples.push_back(idle);
  EXPECT_NEAR(value(device, "occupancy.device", "device 0"), 50, 1e-9);
  EXPECT_EQ(value(device, "occupancy.device", "device 1"), 0);
}

}  // namespace
}  // namespace kvet::questions
