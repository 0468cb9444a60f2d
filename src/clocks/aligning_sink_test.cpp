#include "clocks/aligning_sink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace kvet::clocks {
namespace {

class Kept : public EventSink {
 public:
  StringId intern(std::string_view) override { return {}; }
  void on(const Process&) override { ++others; }
  void on(const Device&) override { ++devices; }
  void on(const KernelShape&) override { ++shapes; }
  void on(const Context&) override { ++others; }
  void on(const ApiCall&) override { ++others; }
  void on(const Execution&) override { ++executions; }
  void on(const Transfer&) override { ++others; }
  void on(const Range&) override { ++others; }
  void on(const OffCpu&) override { ++others; }
  void on(const CollectiveCall&) override { ++others; }
  void on(const Communicator&) override { ++others; }
  void on(const Sample& event) override { samples.push_back(event); }
  void on(const DeviceReading&) override { ++others; }
  void on(const Loss&) override { ++others; }
  void on(const ClockMapping& event) override { mappings.push_back(event); }
  void on(const Meta& event) override { metas.push_back(event); }

  int devices = 0, shapes = 0, executions = 0, others = 0;
  std::vector<Sample> samples;
  std::vector<ClockMapping> mappings;
  std::vector<Meta> metas;
};

constexpr int64_t raw_ahead_ns = 1'000'000'000'000;  // the raw clock is ahead of CLOCK_MONOTONIC by this

class Aligning : public testing::Test {
 protected:
  void announce(uint32_t id) {
    Device device;
    device.id = DeviceId{id};
    device.multiprocessors = 100;
    sink.on(device);
    ClockMapping coarse;
    coarse.source = ClockSource::counters;
    coarse.device = DeviceId{id};
    coarse.offset_ns = -raw_ahead_ns + 400'000;  // 0.4 ms wrong
    sink.on(coarse);
  }
  // Kernels of 0.3 to 1.2 ms with pauses as long, over two seconds; samples of 100 µs.
  void work(uint32_t id, bool with_executions) {
    KernelShape shape;
    shape.grid = {100, 1, 1};
    shape.block = {32, 1, 1};
    sink.on(shape);
    std::mt19937_64 random{id + 1};
    std::vector<std::pair<int64_t, int64_t>> runs;
    for (int64_t time_ns = 5'000'000; time_ns < 1'990'000'000;) {
      const auto length = static_cast<int64_t>(300'000 + random() % 900'000);
      runs.emplace_back(time_ns, time_ns + length);
      time_ns += length + static_cast<int64_t>(300'000 + random() % 900'000);
    }
    size_t next = 0;
    for (int64_t start = 0; start < 2'000'000'000; start += 100'000) {
      while (next < runs.size() && runs[next].second <= start) {
        ++next;
      }
      double busy = 0;
      for (size_t i = next; i < runs.size() && runs[i].first < start + 100'000; ++i) {
        busy +=
            static_cast<double>(std::min(runs[i].second, start + 100'000) - std::max(runs[i].first, start)) / 100'000;
      }
      Sample sample;
      sample.device = DeviceId{id};
      sample.start_ns = start + raw_ahead_ns;
      sample.end_ns = start + 100'000 + raw_ahead_ns;
      sample.cycles_elapsed = 170'000;
      sample.sm_active_cycles = busy * 170'000 * 100;
      sink.on(sample);
    }
    for (const auto& [start, end] : runs) {
      if (with_executions) {
        Execution execution;
        execution.device = DeviceId{id};
        execution.start_ns = start;
        execution.end_ns = end;
        sink.on(execution);
      }
    }
  }
  Kept kept;
  AligningSink sink{kept};
};

TEST_F(Aligning, PassesEverythingOnAndAddsTheMapping) {
  announce(0);
  work(0, true);
  sink.on(Process{});
  sink.on(Loss{});
  sink.align();
  EXPECT_EQ(kept.devices, 1);
  EXPECT_EQ(kept.others, 2);
  EXPECT_EQ(kept.samples.size(), 20'000u);
  EXPECT_EQ(kept.samples[0].start_ns, raw_ahead_ns);  // raw
  ASSERT_GE(kept.mappings.size(), 2u);
  const ClockMapping& found = kept.mappings[1];
  EXPECT_EQ(found.source, ClockSource::counters);
  EXPECT_LE(found.from_ns, raw_ahead_ns);
  EXPECT_GT(found.from_ns, kept.mappings[0].from_ns);
  ASSERT_TRUE(found.residual_ns);
  // At the middle of the recording.
  const double middle = static_cast<double>(found.offset_ns) +
                        found.drift_ns_per_s * static_cast<double>(raw_ahead_ns + 1'000'000'000 - found.from_ns) / 1e9;
  EXPECT_NEAR(middle, -static_cast<double>(raw_ahead_ns), 1'000);
  ASSERT_EQ(kept.metas.size(), 1u);
  EXPECT_EQ(kept.metas[0].key, "counters.alignment");
  EXPECT_TRUE(kept.metas[0].value.starts_with("ok: ")) << kept.metas[0].value;
}

TEST_F(Aligning, EachDeviceHasItsOwnAnswer) {
  announce(0);
  announce(1);
  work(0, true);
  work(1, false);
  sink.align();
  ASSERT_EQ(kept.mappings.size(), 3u);
  EXPECT_EQ(kept.mappings[2].device, DeviceId{0});
  ASSERT_EQ(kept.metas.size(), 1u);
  EXPECT_NE(kept.metas[0].value.find("GPU 0: ok: "), std::string::npos) << kept.metas[0].value;
  EXPECT_NE(kept.metas[0].value.find("GPU 1: not aligned: no executions"), std::string::npos) << kept.metas[0].value;
}

// The host tier: pulses at both ends are all that is known. What they measured is not passed on as it is.
TEST_F(Aligning, PulsesAreAnchorsAndNoRows) {
  announce(0);
  for (const int64_t raw_ns : {raw_ahead_ns - 50'000'000, raw_ahead_ns + 2'050'000'000}) {
    ClockMapping anchor;
    anchor.source = ClockSource::counters;
    anchor.device = DeviceId{0};
    anchor.from_ns = raw_ns;
    anchor.offset_ns = -raw_ahead_ns;
    anchor.residual_ns = 250;
    anchor.residual_p95_ns = 480;
    sink.on(anchor);
  }
  EXPECT_EQ(kept.mappings.size(), 1u);  // the coarse one
  work(0, false);
  sink.align();
  ASSERT_EQ(kept.mappings.size(), 2u);
  EXPECT_EQ(kept.mappings[1].offset_ns, -raw_ahead_ns);
  EXPECT_EQ(kept.mappings[1].drift_ns_per_s, 0);
  EXPECT_EQ(kept.mappings[1].residual_p95_ns, 480);
  EXPECT_LT(kept.mappings[1].from_ns, raw_ahead_ns);
  ASSERT_EQ(kept.metas.size(), 1u);
  EXPECT_TRUE(kept.metas[0].value.starts_with("ok: pulses before and after")) << kept.metas[0].value;
}

TEST_F(Aligning, SaysNothingWithoutSamples) {
  announce(0);
  sink.align();
  EXPECT_EQ(kept.mappings.size(), 1u);
  EXPECT_TRUE(kept.metas.empty());
}

TEST_F(Aligning, BearsEventsThatReferToNothing) {
  announce(0);
  Execution execution;
  execution.shape = ShapeId{4'000'000'000};
  sink.on(execution);
  execution.device = DeviceId{77};
  sink.on(execution);
  Device device;
  device.id = DeviceId{4'000'000'000};
  sink.on(device);
  Sample sample;
  sample.device = DeviceId{77};
  sink.on(sample);
  sink.align();
  EXPECT_EQ(kept.executions, 2);
}

}  // namespace
}  // namespace kvet::clocks
