// What becomes of a train of pulses on its way to the recorder, and how trains are planned.
#include "probes/counters/pulse_anchor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "probes/counters/load_tap.h"
#include "probes/counters/message_decoder.h"
#include "probes/counters/pulse_train.h"
#include "probes/counters/test_sink.h"

namespace kvet::probes {
namespace {

template <class Message>
std::span<const std::byte> bytes_of(kvet_sampler_message_kind kind, Message& message) {
  message.header = {static_cast<kvet_u32>(kind), static_cast<kvet_u32>(sizeof(Message))};
  return std::as_bytes(std::span(&message, 1));
}

class Anchors : public testing::Test {
 protected:
  void SetUp() override {
    kvet_sampler_hello hello{};
    hello.version = KVET_SAMPLER_VERSION;
    ASSERT_TRUE(decoder.feed(sink, bytes_of(KVET_SAMPLER_HELLO, hello)));
    kvet_sampler_device device{};
    ASSERT_TRUE(decoder.feed(sink, bytes_of(KVET_SAMPLER_DEVICE, device)));
  }
  DeviceDirectory directory;
  CounterTestSink sink;
  MessageDecoder decoder{directory, CounterMode::performance_monitor};
};

TEST_F(Anchors, OneIsAMappingWithItsResidual) {
  kvet_sampler_anchor anchor{};
  anchor.moment = KVET_SAMPLER_BEFORE;
  anchor.known = 1;
  anchor.raw_ns = 1'790'000'000'000'000'000;
  anchor.monotonic_ns = 5'000'000'000'123;
  anchor.residual_ns = 300;
  anchor.residual_p95_ns = 600;
  anchor.pulses = 17;
  ASSERT_TRUE(decoder.feed(sink, bytes_of(KVET_SAMPLER_ANCHOR, anchor)));
  ASSERT_EQ(sink.clock_mappings.size(), 1u);
  const ClockMapping& mapping = sink.clock_mappings.front();
  EXPECT_EQ(mapping.source, ClockSource::counters);
  EXPECT_EQ(mapping.from_ns, 1'790'000'000'000'000'000);
  EXPECT_EQ(mapping.from_ns + mapping.offset_ns, 5'000'000'000'123);
  EXPECT_EQ(mapping.residual_ns, 300);
  EXPECT_EQ(mapping.residual_p95_ns, 600);
  ASSERT_EQ(sink.metas.size(), 1u);
  EXPECT_EQ(sink.metas[0].key, "counters.pulses_before");
  EXPECT_TRUE(sink.metas[0].value.starts_with("GPU 0: ok: 17 pulses")) << sink.metas[0].value;
}

TEST_F(Anchors, AFailureIsAFactAndNoMapping) {
  kvet_sampler_anchor anchor{};
  anchor.moment = KVET_SAMPLER_AFTER;
  std::strcpy(anchor.text, "no context can be made: out of memory");
  ASSERT_TRUE(decoder.feed(sink, bytes_of(KVET_SAMPLER_ANCHOR, anchor)));
  EXPECT_TRUE(sink.clock_mappings.empty());
  ASSERT_EQ(sink.metas.size(), 1u);
  EXPECT_EQ(sink.metas[0].key, "counters.pulses_after");
  EXPECT_EQ(sink.metas[0].value, "GPU 0: none: no context can be made: out of memory");
  EXPECT_EQ(decoder.status(), "the counter sampler has not started yet");  // pulses are no trouble of the counters
}

TEST_F(Anchors, OfAGpuThatWasNeverAnnouncedIsRefused) {
  kvet_sampler_anchor anchor{};
  anchor.device = 3;
  EXPECT_FALSE(decoder.feed(sink, bytes_of(KVET_SAMPLER_ANCHOR, anchor)));
}

TEST(LoadTap, KeepsTheBusyShareWhileItCollects) {
  kvet_sampler_sample sample{};
  sample.start_ns = 100;
  sample.end_ns = 200;
  sample.known = 1u << KVET_COUNTER_CYCLES_ELAPSED | 1u << KVET_COUNTER_SM_ACTIVE_CYCLES;
  sample.values[KVET_COUNTER_CYCLES_ELAPSED] = 1'000;
  sample.values[KVET_COUNTER_SM_ACTIVE_CYCLES] = 33'000;  // of 132 × 1000
  LoadTap tap;
  tap.take(sample);
  tap.begin(132);
  EXPECT_TRUE(tap.collecting());
  tap.take(sample);
  sample.known = 0;
  tap.take(sample);
  EXPECT_EQ(tap.newest_ns(), 200);
  const auto loads = tap.end();
  EXPECT_FALSE(tap.collecting());
  ASSERT_EQ(loads.size(), 2u);
  EXPECT_FLOAT_EQ(loads[0].busy, 0.25f);
  EXPECT_TRUE(std::isnan(loads[1].busy));
}

TEST(PulsePlan, StaysWithinItsTimeOnTheGpu) {
  for (const uint64_t interval_ns : {2'000u, 10'000u, 100'000u, 500'000u, 2'000'000u}) {
    const PulsePlan plan = plan_pulses(interval_ns);
    EXPECT_GE(plan.count, 8u);
    // Not more than 2 ms even where every pulse is drawn as long as it may be.
    EXPECT_LE(plan.count * (plan.shortest_ns + plan.longest_ns) / 2, 2'000'000) << interval_ns;
    EXPECT_LE(plan.longest_ns, static_cast<int64_t>(std::max<uint64_t>(interval_ns, 7'000))) << interval_ns;
  }
}

}  // namespace
}  // namespace kvet::probes
