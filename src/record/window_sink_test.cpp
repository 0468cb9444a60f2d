#include "record/window_sink.h"

#include <gtest/gtest.h>

#include "probes/kernel/kept_events.h"
#include "record/loss_ledger.h"

namespace kvet::record {
namespace {

class Window : public testing::Test {
 protected:
  Window() {
    sink_.connect(kept_);
    sink_.set_from(1'000);
    sink_.set_to(2'000);
  }
  probes::KeptEvents kept_;
  WindowSink sink_;
};

TEST_F(Window, WhatTouchesTheWindowPassesWhole) {
  const std::pair<int64_t, int64_t> spans[] = {{0, 999}, {0, 1'000}, {1'500, 1'600}, {1'999, 3'000}, {2'000, 2'001}};
  for (const auto& [start, end] : spans) {
    sink_.on(Execution{.start_ns = start, .end_ns = end});
    sink_.on(ApiCall{.kind = ApiKind::launch_graph, .start_ns = start, .end_ns = end});
    sink_.on(ApiCall{.kind = ApiKind::synchronize_stream, .start_ns = start, .end_ns = end});
  }
  ASSERT_EQ(kept_.executions.size(), 3U);
  EXPECT_EQ(kept_.executions[0].start_ns, 0);
  EXPECT_EQ(kept_.executions[2].end_ns, 3'000);
  EXPECT_EQ(kept_.api_calls.size(), 6U);
  EXPECT_EQ(sink_.counts().executions, 3U);
  EXPECT_EQ(sink_.counts().launches, 3U);  // synchronisation is none
}

TEST_F(Window, WhatEventsReferToPassesAtAnyTime) {
  sink_.on(Process{.start_ns = 1});
  sink_.on(Communicator{.created_ns = 5});
  sink_.on(Meta{"key", "value"});
  EXPECT_EQ(kept_.processes.size(), 1U);
  EXPECT_EQ(kept_.communicators.size(), 1U);
  EXPECT_EQ(kept_.meta["key"], "value");
}

TEST_F(Window, SamplesPassByTheirOwnClockAsFarAsItIsKnown) {
  constexpr int64_t ms = 1'000'000;
  sink_.set_from(100 * ms);
  sink_.set_to(200 * ms);
  const auto sample = [&](int64_t start) {
    sink_.on(Sample{.device = DeviceId{0}, .start_ns = start, .end_ns = start + 1});
  };
  sample(7);  // nothing is known of the clock yet
  EXPECT_EQ(kept_.samples.size(), 1U);
  // Raw 1000 ms is monotonic 0.
  sink_.on(ClockMapping{.source = ClockSource::counters, .device = DeviceId{0}, .offset_ns = -1'000 * ms});
  sample(1'050 * ms);  // 50 ms: too early
  sample(1'150 * ms);
  sample(1'250 * ms);  // too late
  ASSERT_EQ(kept_.samples.size(), 2U);
  EXPECT_EQ(kept_.samples[1].start_ns, 1'150 * ms);
  EXPECT_EQ(sink_.counts().samples, 2U);
}

TEST_F(Window, LossesAreSummedBySourceAndKind) {
  sink_.on(Loss{.source = Source::usdt, .kind = LossKind::batch_gap, .count = 5});
  sink_.on(Loss{.source = Source::usdt, .kind = LossKind::batch_gap, .count = 6});
  sink_.on(Loss{.source = Source::scheduler, .kind = LossKind::ring_full, .count = 1});
  EXPECT_EQ(sink_.counts().losses, 12U);
  EXPECT_EQ(sink_.losses().at({Source::usdt, LossKind::batch_gap}), 11U);
}

TEST(LossLedger, CountersBecomeLossesOnce) {
  probes::KeptEvents kept;
  LossLedger ledger(kept);
  ledger.report(Source::uprobe, LossKind::ring_full, 0, 100);
  EXPECT_TRUE(kept.losses.empty());
  ledger.report(Source::uprobe, LossKind::ring_full, 10, 200);
  ledger.report(Source::uprobe, LossKind::ring_full, 10, 300);
  ledger.report(Source::uprobe, LossKind::ring_full, 15, 400);
  ASSERT_EQ(kept.losses.size(), 2U);
  EXPECT_EQ(kept.losses[0].count, 10U);
  EXPECT_EQ(kept.losses[0].first_ns, 100);
  EXPECT_EQ(kept.losses[0].last_ns, 200);
  EXPECT_EQ(kept.losses[1].count, 5U);
  EXPECT_EQ(kept.losses[1].first_ns, 300);
  EXPECT_EQ(kept.losses[1].last_ns, 400);
}

TEST(LossLedger, EveryKindOfAProgramsLossIsKept) {
  probes::KeptEvents kept;
  LossLedger ledger(kept);
  probes::BpfCounters counters{};
  counters[KVET_COUNTER_EVENTS] = 1'000;  // no loss
  counters[KVET_COUNTER_RESERVE_FAILED] = 1;
  counters[KVET_COUNTER_MAP_FULL] = 2;
  counters[KVET_COUNTER_LAUNCH_UNMATCHED] = 3;
  ledger.report(Source::nccl, counters, 100);
  ASSERT_EQ(kept.losses.size(), 3U);
  EXPECT_EQ(kept.losses[0].kind, LossKind::ring_full);
  EXPECT_EQ(kept.losses[1].kind, LossKind::map_full);
  EXPECT_EQ(kept.losses[2].kind, LossKind::unmatched);
  EXPECT_EQ(kept.losses[2].source, Source::nccl);
}

}  // namespace
}  // namespace kvet::record
