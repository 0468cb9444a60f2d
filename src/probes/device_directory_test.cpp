#include "probes/device_directory.h"

#include <gtest/gtest.h>

#include "probes/activity/test_sink.h"

namespace kvet::probes {
namespace {

Device seen(uint8_t last_byte) {
  Device device;
  device.uuid[15] = last_byte;
  return device;
}

TEST(DeviceDirectory, OneIdPerUuid) {
  TestSink sink;
  DeviceDirectory directory;
  EXPECT_EQ(directory.add(sink, seen(7)), DeviceId{0});
  EXPECT_EQ(directory.add(sink, seen(9)), DeviceId{1});
  EXPECT_EQ(directory.add(sink, seen(7)), DeviceId{0});
  EXPECT_EQ(directory.find(seen(9).uuid), DeviceId{1});
  EXPECT_EQ(directory.find(seen(8).uuid), std::nullopt);
  EXPECT_EQ(sink.devices.size(), 2u);  // nothing new was learned by the third
}

TEST(DeviceDirectory, LearnsFromEachSourceAndKeepsWhatItKnows) {
  TestSink sink;
  DeviceDirectory directory;
  Device from_activity = seen(1);
  from_activity.multiprocessors = 132;
  from_activity.compute_major = 9;
  Device from_counters = seen(1);
  from_counters.multiprocessors = 78;  // a disagreement: the first word stands
  from_counters.compute_major = 9;
  from_counters.l2_bytes = 60 << 20;
  from_counters.power_limit_milliwatts = 700'000;
  directory.add(sink, from_activity);
  directory.add(sink, from_counters);
  ASSERT_EQ(sink.devices.size(), 2u);
  const Device& known = sink.devices.back();
  EXPECT_EQ(known.id, DeviceId{0});
  EXPECT_EQ(known.multiprocessors, 132u);
  EXPECT_EQ(known.compute_major, 9u);
  EXPECT_EQ(known.compute_minor, 0u);  // 9.0: the minor is known to be 0
  EXPECT_EQ(known.l2_bytes, uint64_t{60 << 20});
  EXPECT_EQ(known.power_limit_milliwatts, 700'000u);
}

}  // namespace
}  // namespace kvet::probes
