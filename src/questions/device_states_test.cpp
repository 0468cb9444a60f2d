#include <gtest/gtest.h>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

constexpr int64_t ms = 1'000'000;

struct DeviceStates : testing::Test {
  PlantedDevice device;
  ShapeId k = device.kernel("k"), other = device.kernel("other");
  std::vector<Finding> findings;

  const Finding* ask(std::string_view id) {
    findings = quality(device.capture);
    return find(findings, id);
  }
  double value(std::string_view id) {
    const Finding* finding = ask(id);
    return finding == nullptr ? -1 : finding->value.value_or(-2);
  }
  std::string sentence(std::string_view id) {
    const Finding* finding = ask(id);
    return finding == nullptr ? "" : finding->sentence;
  }
  void recorded(int64_t from, int64_t to) {
    device.capture.meta["record.start_ns"] = std::to_string(from);
    device.capture.meta["record.end_ns"] = std::to_string(to);
  }
  // Every 100 ms, as the sampler reads.
  void readings(int64_t from, int64_t to, std::optional<uint32_t> clock, uint64_t reasons = 0) {
    for (int64_t time = from; time < to; time += 100 * ms) {
      DeviceReading reading;
      reading.time_ns = time;
      reading.sm_clock_mhz = clock;
      if (clock) {
        reading.throttle_reasons = reasons;
      }
      device.capture.device_readings.push_back(reading);
    }
  }
};

TEST_F(DeviceStates, WithoutAGap) {
  recorded(0, 100 * ms);
  device.run(k, 7, 0, 50 * ms);
  device.sample(0, 100 * ms, 100'000);
  EXPECT_EQ(value("device.unsampled"), 0);
  EXPECT_TRUE(ask("device.unsampled")->advice.empty());
  EXPECT_EQ(value("device.lost"), -1);
  EXPECT_EQ(value("device.mig"), -1);
  EXPECT_EQ(value("device.mps_clients"), -1);
}

// Samples for 400 ms of 1 s, then none while NVML calls the GPU idle.
TEST_F(DeviceStates, AGpuThatSleeps) {
  recorded(0, 1000 * ms);
  device.sample(0, 400 * ms, 100'000);
  readings(0, 400 * ms, 1980);
  readings(400 * ms, 1000 * ms, 345, 0x1);
  EXPECT_NEAR(value("device.unsampled"), 60, 0.01);
  EXPECT_NE(sentence("device.unsampled").find("0.600 s, begins after 0.400 s: NVML called the GPU idle"),
            std::string::npos)
      << sentence("device.unsampled");
  EXPECT_FALSE(ask("device.unsampled")->advice.empty());
  EXPECT_EQ(value("device.lost"), -1) << "asleep is not lost";
}

TEST_F(DeviceStates, ADeviceThatIsLost) {
  recorded(0, 1000 * ms);
  device.sample(0, 400 * ms, 100'000);
  readings(0, 400 * ms, 1980);
  readings(400 * ms, 1000 * ms, {});
  device.capture.meta["counters.status"] = "sampling ended early: error 999";
  // The last answer at 300 ms, the last question at 900 ms.
  EXPECT_EQ(value("device.lost"), 600 * ms);
  EXPECT_NE(sentence("device.lost").find("after 0.300 s"), std::string::npos) << sentence("device.lost");
  EXPECT_NE(sentence("device.lost").find("sampling ended early: error 999"), std::string::npos);
  EXPECT_NE(sentence("device.unsampled").find("NVML had no answer"), std::string::npos);
}

TEST_F(DeviceStates, AReadingThatFailsOnceIsNoLoss) {
  readings(0, 400 * ms, 1980);
  readings(400 * ms, 500 * ms, {});
  EXPECT_EQ(value("device.lost"), -1) << "one at the end";
  readings(500 * ms, 600 * ms, {});
  EXPECT_GT(value("device.lost"), 0);
  readings(600 * ms, 700 * ms, 1980);
  EXPECT_EQ(value("device.lost"), -1) << "it came back";
}

TEST_F(DeviceStates, ASamplerThatDied) {
  recorded(0, 1000 * ms);
  device.sample(0, 400 * ms, 100'000);
  readings(0, 400 * ms, 1980);
  device.capture.losses.push_back({Source::counters, LossKind::sampler_died, {}, 1, 400 * ms, {}});
  device.capture.meta["counters.status"] = "the counter sampler died of signal 11";
  EXPECT_NE(sentence("device.unsampled").find("died (the counter sampler died of signal 11)"), std::string::npos)
      << sentence("device.unsampled");
}

TEST_F(DeviceStates, PausesOfTheSampler) {
  recorded(0, 1000 * ms);
  device.sample(0, 490 * ms, 100'000);
  device.sample(500 * ms, 1000 * ms, 100'000);
  EXPECT_NEAR(value("device.unsampled"), 1, 0.01);
  EXPECT_NE(sentence("device.unsampled").find("nothing in the capture says why"), std::string::npos);
  device.capture.meta["counters.paused_ns"] = "9000000";
  EXPECT_NE(sentence("device.unsampled").find("nothing in the capture says why"), std::string::npos)
      << "less than that";
  device.capture.meta["counters.paused_ns"] = "10000000";
  EXPECT_NE(sentence("device.unsampled").find("pauses while it decodes"), std::string::npos)
      << sentence("device.unsampled");
}

TEST_F(DeviceStates, CountersThatWereAskedForAndNeverCame) {
  device.run(k, 7, 0, 50 * ms);
  EXPECT_EQ(value("device.unsampled"), -1) << "not asked for";
  device.capture.meta["counters.mode"] = "pm";
  device.capture.meta["counters.status"] = "held";
  EXPECT_EQ(value("device.unsampled"), -2);
  EXPECT_NE(ask("device.unsampled")->reason.find("held"), std::string::npos);
}

TEST_F(DeviceStates, TurnsOfRecordedContexts) {
  device.run(k, 7, 0, 40 * ms);
  device.run(other, 8, 30 * ms, 60 * ms).process = {1};
  device.sample(0, 100 * ms, 100'000);
  EXPECT_NEAR(value("device.time_sliced"), 10, 1e-2) << "10 of 100 ms";
  EXPECT_NE(sentence("device.time_sliced").find("switches were not sampled"), std::string::npos);
  device.capture.samples.clear();
  EXPECT_NEAR(value("device.time_sliced"), 100.0 / 6, 1e-6) << "of the 60 ms in which kernels ran";
}

// 20 samples of 1000 hold a switch, and nobody's kernels overlap: the other context was not recorded.
TEST_F(DeviceStates, TurnsWithAContextThatWasNotRecorded) {
  device.run(k, 7, 0, 40 * ms);
  device.sample(0, 100 * ms, 100'000);
  EXPECT_EQ(value("device.time_sliced"), -2) << "switches were not sampled: not known";
  for (size_t i = 0; i < 1000; ++i) {
    device.capture.samples[i].context_switch_cycles = i % 50 == 3 ? 30'000 : 0;
  }
  EXPECT_NEAR(value("device.time_sliced"), 2, 1e-4);
  EXPECT_NE(sentence("device.time_sliced").find("the other context was not recorded"), std::string::npos)
      << sentence("device.time_sliced");
  EXPECT_FALSE(ask("device.time_sliced")->advice.empty());
}

TEST_F(DeviceStates, NoTurns) {
  device.run(k, 7, 0, 40 * ms);
  device.sample(0, 100 * ms, 100'000);
  for (Sample& sample : device.capture.samples) {
    sample.context_switch_cycles = 0;
  }
  EXPECT_EQ(value("device.time_sliced"), 0);
  EXPECT_TRUE(ask("device.time_sliced")->advice.empty());
}

TEST_F(DeviceStates, PartOfAGpu) {
  device.capture.devices[0].mig = true;
  EXPECT_EQ(value("device.mig"), 1);
  EXPECT_FALSE(ask("device.mig")->advice.empty());
}

TEST_F(DeviceStates, ClientsOfMps) {
  Context context;
  context.sharing = ContextSharing::mps;
  device.capture.contexts = {context, context};
  device.capture.contexts[1].context_id = 2;
  EXPECT_EQ(value("device.mps_clients"), 1) << "two contexts of one process";
  context.process = {1};
  context.mps_thread_percent = 25;
  device.capture.contexts.push_back(context);
  EXPECT_EQ(value("device.mps_clients"), 2);
  EXPECT_NE(sentence("device.mps_clients").find("1 of them limited"), std::string::npos);
}

}  // namespace
}  // namespace kvet::questions
