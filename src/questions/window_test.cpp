#include <gtest/gtest.h>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

TEST(Window, KeepsWhatBeginsInside) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k");
  for (int64_t at : {0, 90, 100, 199, 200}) {
    device.run(k, 7, at, at + 20);
    ApiCall call;
    call.start_ns = at;
    call.end_ns = at + 500;
    device.capture.api_calls.push_back(call);
    OffCpu off;
    off.start_ns = at;
    device.capture.off_cpu.push_back(off);
    DeviceReading reading;
    reading.time_ns = at;
    device.capture.device_readings.push_back(reading);
  }
  device.capture.transfers.resize(1);
  device.capture.ranges.resize(1);
  device.capture.collective_calls.resize(1);
  device.capture.losses.resize(1);
  device.capture.communicators.resize(1);
  const Capture part = within_window(device.capture, 100, 200);
  ASSERT_EQ(part.executions.size(), 2u);
  EXPECT_EQ(part.executions[0].start_ns, 100);
  EXPECT_EQ(part.executions[1].start_ns, 199);
  EXPECT_EQ(part.executions[1].end_ns, 219) << "what begins inside is whole";
  EXPECT_EQ(part.api_calls.size(), 2u);
  EXPECT_EQ(part.off_cpu.size(), 2u);
  EXPECT_EQ(part.device_readings.size(), 2u);
  EXPECT_TRUE(part.transfers.empty());
  EXPECT_TRUE(part.ranges.empty());
  EXPECT_TRUE(part.collective_calls.empty());
  EXPECT_EQ(part.losses.size(), 1u) << "losses belong to the capture";
  EXPECT_EQ(part.communicators.size(), 1u) << "communicators are older than what they are used for";
  EXPECT_EQ(part.shapes.size(), device.capture.shapes.size());
  EXPECT_TRUE(part.complete);
}

TEST(Window, SamplesAreCut) {
  PlantedDevice device;
  for (int64_t at : {0, 100, 200, 300}) {
    Sample sample;
    sample.start_ns = at;
    sample.end_ns = at + 100;
    sample.warp_cycles = 1000;
    device.capture.samples.push_back(sample);
  }
  const Capture part = within_window(device.capture, 150, 310);
  ASSERT_EQ(part.samples.size(), 3u);
  EXPECT_EQ(part.samples[0].start_ns, 150);
  EXPECT_DOUBLE_EQ(*part.samples[0].warp_cycles, 500);
  EXPECT_DOUBLE_EQ(*part.samples[1].warp_cycles, 1000);
  EXPECT_EQ(part.samples[2].end_ns, 310);
  EXPECT_DOUBLE_EQ(*part.samples[2].warp_cycles, 100);
  EXPECT_FALSE(part.samples[2].dram_read_bytes) << "unknown stays unknown";
  EXPECT_TRUE(within_window(device.capture, 400, 500).samples.empty());
  EXPECT_TRUE(within_window(device.capture, 300, 200).samples.empty());
}

}  // namespace
}  // namespace kvet::questions
