#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "questions/device_busy.h"
#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

class Quality : public testing::Test {
 protected:
  ApiCall& call(ApiKind kind, uint32_t correlation, int64_t from, int64_t to) {
    ApiCall call;
    call.kind = kind;
    call.correlation_id = correlation;
    call.start_ns = from;
    call.end_ns = to;
    device.capture.api_calls.push_back(call);
    return device.capture.api_calls.back();
  }
  Execution& run(uint32_t correlation, int64_t from, int64_t to, uint32_t stream = 7) {
    Execution& execution = device.run(k, stream, from, to);
    execution.correlation_id = correlation;
    return execution;
  }
  // The value of a finding; a missing one fails.
  double value(std::string_view id) {
    findings = quality(device.capture);
    const Finding* finding = find(findings, id);
    EXPECT_NE(finding, nullptr) << id;
    EXPECT_TRUE(finding != nullptr && finding->value) << id;
    sentence = finding != nullptr ? finding->sentence : "";
    observations = finding != nullptr ? finding->observations : 0;
    return finding != nullptr ? finding->value.value_or(-1) : -1;
  }
  void expect_unavailable(std::string_view id, std::string_view reason) {
    findings = quality(device.capture);
    const Finding* finding = find(findings, id);
    ASSERT_NE(finding, nullptr) << id;
    EXPECT_EQ(finding->evidence, Evidence::unavailable) << finding->sentence;
    EXPECT_NE(finding->reason.find(reason), std::string::npos) << finding->reason;
  }
  PlantedDevice device;
  ShapeId k = device.kernel("k", 256, 32, 0, 100);
  std::vector<Finding> findings;
  std::string sentence;
  uint64_t observations = 0;
};

TEST_F(Quality, LossesOfAnImportAreNotBlamedOnARecording) {
  const LossKind kinds[] = {LossKind::cupti_dropped,  LossKind::bad_time,  LossKind::table_full,
                            LossKind::unknown_record, LossKind::unmatched, LossKind::unjoined};
  for (const LossKind kind : kinds) {
    device.capture.losses.push_back(
        {.source = Source::imported, .kind = kind, .process = {}, .count = 1, .first_ns = {}, .last_ns = {}});
  }
  size_t seen = 0;
  for (const Finding& finding : quality(device.capture)) {
    if (finding.id == "quality.loss") {
      ++seen;
      EXPECT_EQ(finding.advice.find("CUPTI"), std::string::npos) << finding.advice;
      EXPECT_EQ(finding.advice.find("edges of a recording"), std::string::npos) << finding.advice;
      EXPECT_EQ(finding.advice.find("kvet"), std::string::npos) << finding.advice;
      EXPECT_FALSE(finding.advice.empty());
    }
  }
  EXPECT_EQ(seen, std::size(kinds));
}

TEST_F(Quality, WhatAnImportedFileLacksIsSaidWithTheFlagThatAddsIt) {
  device.capture.meta["tier"] = "imported";
  device.capture.meta["import.format"] = "a profile";
  device.capture.meta["import.version"] = "7";
  device.capture.meta["source.sched"] = "no scheduler events";
  device.capture.meta["source.sched.advice"] = "use --switches";
  device.capture.meta["counters.status"] = "no metrics";
  device.capture.meta["counters.advice"] = "use --metrics";
  device.capture.meta["import.message.1"] = "buffers were short";
  expect_unavailable("quality.tier", "imported from a profile 7");
  std::map<std::string, std::pair<std::string, std::string>> sources;
  for (const Finding& finding : quality(device.capture)) {
    if (finding.id == "quality.source") {
      sources[finding.beside] = {finding.reason, finding.advice};
    }
  }
  const std::map<std::string, std::pair<std::string, std::string>> expected = {
      {"counters", {"no metrics", "use --metrics"}}, {"sched", {"no scheduler events", "use --switches"}}};
  EXPECT_EQ(sources, expected);
  EXPECT_EQ(value("quality.message"), 1);
  EXPECT_NE(sentence.find("buffers were short"), std::string::npos);
}

TEST_F(Quality, TierAndCompleteness) {
  EXPECT_EQ(value("quality.tier"), 5);
  EXPECT_NE(sentence.find("\"full\""), std::string::npos);
  EXPECT_EQ(value("quality.complete"), 1);
  device.capture.complete = false;
  EXPECT_EQ(value("quality.complete"), 0);
  device.capture.meta["tier"] = "host";
  EXPECT_EQ(value("quality.tier"), 1);
  device.capture.meta.erase("tier");
  expect_unavailable("quality.tier", "does not say");
}

TEST_F(Quality, LossesAddUpBySource) {
  EXPECT_EQ(value("quality.losses"), 0);
  EXPECT_EQ(find(findings, "quality.loss"), nullptr);
  device.capture.losses = {{Source::cupti, LossKind::cupti_dropped, {}, 10, {}, {}},
                           {Source::cupti, LossKind::cupti_dropped, ProcessId{1}, 5, {}, {}},
                           {Source::usdt, LossKind::ring_full, {}, 7, {}, {}}};
  EXPECT_EQ(value("quality.losses"), 22);
  const Finding* cupti = find(findings, "quality.loss", "CUPTI");
  ASSERT_NE(cupti, nullptr);
  EXPECT_EQ(cupti->value, 15);
  EXPECT_FALSE(cupti->advice.empty());
  const Finding* usdt = find(findings, "quality.loss", "the library in the target");
  ASSERT_NE(usdt, nullptr);
  EXPECT_EQ(usdt->value, 7);
}

TEST_F(Quality, EveryLossIsExplained) {
  for (int kind = 0; kind <= static_cast<int>(LossKind::ended_without_exit_handlers); ++kind) {
    device.capture.losses = {{Source::recorder, static_cast<LossKind>(kind), {}, 1, {}, {}}};
    value("quality.losses");
    const Finding* loss = find(findings, "quality.loss");
    ASSERT_NE(loss, nullptr);
    EXPECT_EQ(loss->sentence.find("unknown reason"), std::string::npos) << kind;
  }
}

TEST_F(Quality, LaunchRecordsAgainstUprobes) {
  call(ApiKind::launch_kernel, 1, 0, 10);
  call(ApiKind::launch_graph, 2, 20, 30);
  call(ApiKind::launch_kernel, 3, 40, 50).captured = true;
  call(ApiKind::synchronize_context, 4, 60, 70);
  call(ApiKind::copy_async, 5, 60, 70);
  expect_unavailable("quality.launch_records", "no uprobes");
  device.capture.meta["check.launches_uprobe"] = "3";
  EXPECT_EQ(value("quality.launch_records"), 0);
  EXPECT_NE(sentence.find("executing nothing: 1"), std::string::npos) << sentence;
  device.capture.meta["check.launches_uprobe"] = "5";
  EXPECT_EQ(value("quality.launch_records"), -2);
  device.capture.meta["check.launches_uprobe"] = "5x";
  expect_unavailable("quality.launch_records", "no uprobes");
}

TEST_F(Quality, EveryLaunchExecutesOnce) {
  for (uint32_t i = 1; i <= 5; ++i) {
    call(ApiKind::launch_kernel, i, 100 * i, 100 * i + 10);
  }
  call(ApiKind::launch_kernel, 6, 600, 610).captured = true;  // executes nothing
  call(ApiKind::launch_kernel, 7, 700, 710).result = 700;     // failed
  run(1, 150, 160);
  run(2, 250, 260);
  run(3, 350, 360);
  EXPECT_EQ(value("quality.executions"), 2) << "4 and 5 never ran";
  run(4, 450, 460);
  run(5, 550, 560);
  EXPECT_EQ(value("quality.executions"), 0);
  run(5, 560, 570);  // twice
  run(9, 900, 910);  // launched by nobody
  run(6, 650, 660);  // captured, and yet
  EXPECT_EQ(value("quality.executions"), 3);
}

TEST_F(Quality, GraphLaunchesFanOutAlike) {
  for (uint32_t launch = 1; launch <= 4; ++launch) {
    call(ApiKind::launch_graph, launch, 1000 * launch, 1000 * launch + 10);
    for (uint64_t node = 1; node <= (launch == 3 ? 4u : 5u); ++node) {  // the third lost one
      Execution& execution = run(launch, 1000 * launch + 50 * static_cast<int64_t>(node),
                                 1000 * launch + 50 * static_cast<int64_t>(node) + 10);
      execution.graph_id = 8;
      execution.graph_node_id = node;
    }
  }
  EXPECT_EQ(value("quality.graph_nodes"), 1);
  EXPECT_NE(sentence.find("4 graph launches ran 19 kernels"), std::string::npos) << sentence;
  EXPECT_EQ(value("quality.executions"), 0);
}

TEST_F(Quality, BlocksAgainstExecutions) {
  for (int64_t at = 0; at < 1000; at += 100) {
    run(1, at + 10, at + 60);  // 100 blocks each
    Sample sample;
    sample.start_ns = at;
    sample.end_ns = at + 100;
    sample.blocks_completed = 100;
    device.capture.samples.push_back(sample);
  }
  run(1, 2010, 2060);  // nobody sampled then
  EXPECT_EQ(value("quality.blocks"), 1);
  EXPECT_NE(sentence.find("agree within 1%"), std::string::npos);
  EXPECT_EQ(observations, 10u);
  device.capture.samples[0].blocks_completed = 120;
  EXPECT_NEAR(value("quality.blocks"), 1.02, 1e-12);
  EXPECT_NE(sentence.find("do not agree"), std::string::npos);
  device.capture.shapes[0].grid = {0, 0, 0};
  expect_unavailable("quality.blocks", "unknown grid");
  device.capture.samples.clear();
  expect_unavailable("quality.blocks", "no counter samples");
}

// A kernel of 30 s in a recording of 10: CUPTI has nothing to say about it yet.
TEST_F(Quality, AKernelThatHadNotEnded) {
  call(ApiKind::launch_kernel, 1, 0, 10);
  expect_unavailable("quality.executions", "1 launches were recorded and no kernel had ended");
  device.capture.api_calls[0].source = Source::uprobe;  // the host tier sees no executions anyway
  expect_unavailable("quality.executions", "holds no executions");
}

TEST_F(Quality, CausalityOfStarts) {
  expect_unavailable("quality.executions", "no executions");
  run(1, 100, 200);
  expect_unavailable("quality.causality.start", "no execution can be joined");
  call(ApiKind::launch_kernel, 1, 90, 95);
  call(ApiKind::launch_kernel, 2, 300, 310);
  run(2, 300, 310);
  EXPECT_EQ(value("quality.causality.start"), 0);
  EXPECT_EQ(observations, 2u);
  call(ApiKind::launch_kernel, 3, 500, 510);
  run(3, 480, 490);
  call(ApiKind::launch_kernel, 4, 600, 610);
  run(4, 599, 620);
  EXPECT_EQ(value("quality.causality.start"), 2);
  EXPECT_NE(sentence.find("starts 20 ns before its launch"), std::string::npos) << sentence;
}

TEST_F(Quality, CausalityOfEnds) {
  call(ApiKind::launch_kernel, 1, 0, 10);
  run(1, 20, 100);
  expect_unavailable("quality.causality.end", "no recorded call waits");
  call(ApiKind::synchronize_context, 2, 15, 110);
  call(ApiKind::launch_kernel, 3, 120, 130);
  run(3, 135, 400);
  EXPECT_EQ(value("quality.causality.end"), 0) << "the second was launched after the only wait";
  EXPECT_EQ(observations, 1u);
  call(ApiKind::synchronize_context, 4, 140, 350);
  EXPECT_EQ(value("quality.causality.end"), 1);
  EXPECT_NE(sentence.find("ends 50 ns after"), std::string::npos) << sentence;
  // A second context: which one was waited for is not known any more.
  run(5, 500, 510).context_id = 2;
  expect_unavailable("quality.causality.end", "one context");
}

TEST_F(Quality, StreamWaitsCountWithOneStreamOnly) {
  call(ApiKind::launch_kernel, 1, 0, 10);
  run(1, 20, 200);
  call(ApiKind::synchronize_stream, 2, 15, 110);
  EXPECT_EQ(value("quality.causality.end"), 1);
  run(3, 500, 510, 8);
  expect_unavailable("quality.causality.end", "no recorded call waits");
}

TEST_F(Quality, OwnOverheadIsPassedOn) {
  value("quality.complete");
  EXPECT_EQ(find(findings, "quality.overhead"), nullptr);
  device.capture.meta["overhead.recorder_cpu_percent"] = "1.5";
  device.capture.meta["overhead.note"] = "not a number";
  device.capture.meta["counters.processor_time_ns"] = "7000";
  EXPECT_EQ(value("quality.overhead"), 7000);
  EXPECT_EQ(find(findings, "quality.overhead")->unit, "ns");
  const Finding* cpu = find(findings, "quality.overhead", "overhead.recorder_cpu_percent");
  ASSERT_NE(cpu, nullptr);
  EXPECT_EQ(cpu->value, 1.5);
  EXPECT_EQ(cpu->unit, "%");
}

TEST_F(Quality, DeviceBusy) {
  run(1, 100, 200);
  run(2, 150, 250, 8);
  device.transfer(300, 400, 1);
  EXPECT_EQ(device_busy(device.capture, {0}).spans(), (std::vector<Span>{{100, 250}, {300, 400}}));
  EXPECT_EQ(device_executing(device.capture, {0}).spans(), (std::vector<Span>{{100, 250}}));
  EXPECT_EQ(device_transferring(device.capture, {0}).spans(), (std::vector<Span>{{300, 400}}));
  EXPECT_TRUE(device_busy(device.capture, {1}).empty());
}

}  // namespace
}  // namespace kvet::questions
