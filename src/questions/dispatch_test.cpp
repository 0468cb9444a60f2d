#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "questions/questions.h"
#include "questions/streams.h"

namespace kvet::questions {
namespace {

// A capture that is written down by hand. Kernel "k" is K, "other" is not.
class Planted {
 public:
  Capture capture;

  Planted() {
    capture.path = "planted";
    capture.complete = true;
    capture.meta["tier"] = "device";
    capture.strings = {"", "python", "k", "other", "cc1"};
    for (uint32_t process = 0; process < 2; ++process) {
      Process entry;
      entry.id = ProcessId{process};
      entry.pid = 4000 + static_cast<int32_t>(process);
      entry.name = StringId{1};
      capture.processes.push_back(entry);
    }
    capture.devices.resize(2);
    for (uint32_t device = 0; device < 2; ++device) {
      capture.devices[device].id = DeviceId{device};
    }
    for (uint32_t shape = 0; shape < 2; ++shape) {
      KernelShape entry;
      entry.id = ShapeId{shape};
      entry.name = StringId{2 + shape};
      capture.shapes.push_back(entry);
    }
  }

  ApiCall& call(ApiKind kind, uint32_t correlation, int64_t start, int64_t end, int32_t thread = 4711) {
    ApiCall entry;
    entry.process = ProcessId{0};
    entry.thread_id = thread;
    entry.kind = kind;
    entry.correlation_id = correlation;
    entry.start_ns = start;
    entry.end_ns = end;
    capture.api_calls.push_back(entry);
    return capture.api_calls.back();
  }
  Execution& run(uint32_t shape, uint32_t correlation, int64_t start, int64_t end, uint32_t stream = 7) {
    Execution entry;
    entry.process = ProcessId{0};
    entry.device = DeviceId{0};
    entry.shape = ShapeId{shape};
    entry.context_id = 1;
    entry.stream_id = stream;
    entry.correlation_id = correlation;
    entry.start_ns = start;
    entry.end_ns = end;
    capture.executions.push_back(entry);
    return capture.executions.back();
  }
  void copy(uint32_t process, int64_t start, int64_t end) {
    Transfer entry;
    entry.process = ProcessId{process};
    entry.device = DeviceId{0};
    entry.context_id = 9;
    entry.stream_id = 3;
    entry.start_ns = start;
    entry.end_ns = end;
    capture.transfers.push_back(entry);
  }
  OffCpu& off(OffCpuReason reason, int64_t start, int64_t wake, int64_t end, int32_t thread = 4711) {
    OffCpu entry;
    entry.process = ProcessId{0};
    entry.thread_id = thread;
    entry.reason = reason;
    entry.start_ns = start;
    entry.wake_ns = wake;
    entry.end_ns = end;
    capture.off_cpu.push_back(entry);
    return capture.off_cpu.back();
  }

  // Findings by id; the thread's own, or those of nobody in particular.
  std::map<std::string, Finding> ask(const std::string& beside = "thread 4711 of python") {
    std::ranges::stable_sort(capture.api_calls, {}, &ApiCall::start_ns);
    std::ranges::stable_sort(capture.executions, {}, &Execution::start_ns);
    KernelSet set;
    set.label = "k";
    set.has_shape = {true, false};
    std::map<std::string, Finding> by_id;
    for (Finding& finding : dispatch(capture, set)) {
      EXPECT_EQ(finding.question, Question::dispatch);
      EXPECT_EQ(finding.subject, "k");
      EXPECT_EQ(finding.value.has_value(), finding.evidence != Evidence::unavailable) << finding.id;
      EXPECT_EQ(finding.reason.empty(), finding.value.has_value()) << finding.id;
      if (finding.beside == beside || finding.beside.empty()) {
        by_id[finding.id] = finding;
      }
    }
    return by_id;
  }
};

// Three launches into one stream. The second was early; before the third the stream ran dry at 7000, and the call
// returned at 10000. In between the dispatcher came back from a synchronisation (7100), slept on a lock (7200 to 8000),
// waited for a CPU (to 8300), and was preempted inside the launch call (9100 to 9400). Another process copied from 8000
// to 8500.
Planted one_thread() {
  Planted planted;
  planted.call(ApiKind::launch_kernel, 1, 1000, 1400);
  planted.run(0, 1, 2000, 5000);
  planted.call(ApiKind::launch_kernel, 2, 1500, 1900);
  planted.run(0, 2, 5000, 7000);
  planted.call(ApiKind::synchronize_stream, 0, 2000, 7100);
  planted.off(OffCpuReason::poll, 3000, 3900, 4000);
  planted.off(OffCpuReason::futex, 7200, 8000, 8300);
  planted.copy(1, 8000, 8500);
  planted.call(ApiKind::launch_kernel, 3, 9000, 10000);
  OffCpu& preempted = planted.off(OffCpuReason::preempted, 9100, 9100, 9400);
  preempted.taker_name = StringId{4};
  preempted.taker_thread_id = 99;
  planted.run(0, 3, 10500, 12000);
  return planted;
}

#define EXPECT_VALUE(id, expected)                                 \
  do {                                                             \
    ASSERT_TRUE(findings.contains(id)) << (id);                    \
    ASSERT_TRUE(findings.at(id).value) << findings.at(id).reason;  \
    EXPECT_NEAR(*findings.at(id).value, (expected), 1e-6) << (id); \
  } while (false)

TEST(Dispatch, LaunchCostIsSplitIntoOnAndOffCpu) {
  auto findings = one_thread().ask();
  EXPECT_VALUE("dispatch.eager.launches", 3);
  EXPECT_VALUE("dispatch.eager.launch_cost.p50", 400);
  EXPECT_VALUE("dispatch.eager.launch_cost.p90",
               880);  // of 400, 400, 1000: 0.8 of the way from the second to the third
  EXPECT_VALUE("dispatch.eager.launch_cost.max", 1000);
  EXPECT_VALUE("dispatch.eager.launch_cost.on_cpu.max", 700);
  EXPECT_VALUE("dispatch.eager.launch_cost.off_cpu.max", 300);
  EXPECT_VALUE("dispatch.eager.launch_cost.off_cpu.p50", 0);
  EXPECT_EQ(findings.at("dispatch.eager.launch_cost.p50").observations, 3u);
  EXPECT_FALSE(findings.contains("dispatch.graph.launches"));
}

TEST(Dispatch, LeadAndStartDelayFollowTheDefinition) {
  auto findings = one_thread().ask();
  // Leads 3100 and −3000; the first launch has nothing before it.
  EXPECT_VALUE("dispatch.eager.lead.p50", 50);
  EXPECT_VALUE("dispatch.eager.lead.max", 3100);
  EXPECT_EQ(findings.at("dispatch.eager.lead.p50").observations, 2u);
  // Delays 600, 0, 500.
  EXPECT_VALUE("dispatch.eager.start_delay.p50", 500);
  EXPECT_VALUE("dispatch.eager.start_delay.max", 600);
  EXPECT_EQ(findings.at("dispatch.eager.lead.p50").evidence, Evidence::measured)
      << "one stream: nothing else can hold work up";
}

TEST(Dispatch, StarvationIsSplitByWhatTheDispatcherDid) {
  auto findings = one_thread().ask();
  EXPECT_VALUE("dispatch.starvation.stream.total", 3000);
  EXPECT_VALUE("dispatch.starvation.stream.max", 3000);
  EXPECT_EQ(findings.at("dispatch.starvation.stream.max").observations, 1u) << "only one launch came late";
  EXPECT_VALUE("dispatch.starvation.stream.by.waiting_for_gpu", 100);
  EXPECT_VALUE("dispatch.starvation.stream.by.futex", 800);
  EXPECT_VALUE("dispatch.starvation.stream.by.waiting_for_cpu", 300);
  EXPECT_VALUE("dispatch.starvation.stream.by.preempted", 300);
  EXPECT_VALUE("dispatch.starvation.stream.by.running", 1500);
  EXPECT_VALUE("dispatch.starvation.stream.share", 100.0 * 3000 / 9000);
}

TEST(Dispatch, DeviceStarvationLeavesOutWhatAnybodyRan) {
  auto findings = one_thread().ask();
  EXPECT_VALUE("dispatch.starvation.device.total", 2500);
  EXPECT_VALUE("dispatch.starvation.device.by.waiting_for_gpu", 100);
  EXPECT_VALUE("dispatch.starvation.device.by.futex", 800);
  EXPECT_FALSE(findings.contains("dispatch.starvation.device.by.waiting_for_cpu")) << "the copy ran in just that time";
  EXPECT_VALUE("dispatch.starvation.device.by.preempted", 300);
  EXPECT_VALUE("dispatch.starvation.device.by.running", 1300);
}

TEST(Dispatch, OffCpuTimeAndWaitingForTheGpuAreKeptApart) {
  auto findings = one_thread().ask();
  // Active from 1000 to 10000. Away: 1000 in poll, inside the synchronisation; 1100 futex and queue; 300 preempted.
  EXPECT_VALUE("dispatch.off_cpu.total", 2400);
  EXPECT_VALUE("dispatch.off_cpu.share", 100.0 * 2400 / 9000);
  EXPECT_VALUE("dispatch.off_cpu.futex", 100.0 * 800 / 9000);
  EXPECT_VALUE("dispatch.off_cpu.waiting_for_cpu", 100.0 * 300 / 9000);
  EXPECT_VALUE("dispatch.off_cpu.preempted", 100.0 * 300 / 9000);
  EXPECT_FALSE(findings.contains("dispatch.off_cpu.poll"));
  EXPECT_VALUE("dispatch.gpu_wait.total", 5100);
  EXPECT_VALUE("dispatch.gpu_wait.asleep", 100.0 * 1000 / 5100);
}

TEST(Dispatch, SyncBubbleRunsFromTheLastEndToReturnAndNextLaunch) {
  auto findings = one_thread().ask();
  EXPECT_VALUE("dispatch.sync_bubble.return.max", 100);
  EXPECT_VALUE("dispatch.sync_bubble.next_launch.max", 1900);
  EXPECT_EQ(findings.at("dispatch.sync_bubble.return.max").observations, 1u);
}

TEST(Dispatch, ACallThatFoundTheDeviceIdleMakesNoBubble) {
  Planted planted;
  planted.call(ApiKind::launch_kernel, 1, 1000, 1400);
  planted.run(0, 1, 2000, 5000);
  planted.call(ApiKind::synchronize_context, 0, 6000, 6100);
  auto findings = planted.ask();
  EXPECT_FALSE(findings.at("dispatch.sync_bubble.return").value);
}

TEST(Dispatch, WhoTookTheCpuIsNamed) {
  auto findings = one_thread().ask("cc1 (99)");
  EXPECT_VALUE("dispatch.cpu_taker", 300);
  EXPECT_EQ(findings.at("dispatch.cpu_taker").observations, 1u);
}

TEST(Dispatch, WhoHadTheCpuAfterAWakeUpIsNamedApart) {
  Planted planted = one_thread();
  for (OffCpu& interval : planted.capture.off_cpu) {
    if (interval.reason == OffCpuReason::futex) {  // woken at 8000, ran at 8300
      interval.taker_name = StringId{4};
      interval.taker_thread_id = 98;
    }
  }
  auto findings = planted.ask("cc1 (98)");
  EXPECT_VALUE("dispatch.cpu_holder", 300);
  EXPECT_FALSE(findings.contains("dispatch.cpu_taker"));
}

TEST(Dispatch, ARunningThreadThatKeepsTheDispatcherBlockedIsItsCause) {
  Planted planted = one_thread();
  // It runs until it unlocks at 8000, and was off the CPU long before.
  planted.off(OffCpuReason::io, 100, 200, 200, 5000);
  for (OffCpu& interval : planted.capture.off_cpu) {
    if (interval.reason == OffCpuReason::futex) {
      interval.waker_thread_id = 5000;
    }
  }
  std::ranges::stable_sort(planted.capture.off_cpu, {}, &OffCpu::start_ns);
  auto findings = planted.ask("thread 5000 of python");
  EXPECT_VALUE("dispatch.starvation.cause", 800);
  EXPECT_NE(findings.at("dispatch.starvation.cause").sentence.find("running 100%"), std::string::npos);
}

TEST(Dispatch, LaunchesThatWaitForTheQueueAreCounted) {
  Planted planted = one_thread();
  planted.capture.meta["inject.queue_waits"] = "1";
  auto findings = planted.ask();
  EXPECT_VALUE("dispatch.back_pressure", 0);
  planted.call(ApiKind::wait_for_queue, 3, 9050, 9150);
  planted.call(ApiKind::wait_for_queue, 3, 9200, 9260, 0);  // of the same launch, its thread unknown
  planted.call(ApiKind::wait_for_queue, 99, 9300, 9400);  // of another launch
  findings = planted.ask();
  EXPECT_VALUE("dispatch.back_pressure", 1);
  EXPECT_EQ(findings.at("dispatch.back_pressure").observations, 3u);
  EXPECT_VALUE("dispatch.back_pressure.time", 160);
  EXPECT_EQ(findings.at("dispatch.back_pressure").evidence, Evidence::measured);
  planted.call(ApiKind::wait_for_queue, 0, 9400, 9450);
  EXPECT_EQ(planted.ask().at("dispatch.back_pressure").evidence, Evidence::attributed);
}

TEST(Dispatch, ARecordingThatCannotTellOfTheQueueSaysSo) {
  auto findings = one_thread().ask();
  EXPECT_FALSE(findings.at("dispatch.back_pressure").value);
  EXPECT_NE(findings.at("dispatch.back_pressure").advice.find("12.4"), std::string::npos);
}

TEST(Dispatch, AGraphLaunchCountsOnceAndFromItsFirstWork) {
  Planted planted;
  planted.call(ApiKind::launch_kernel, 1, 0, 100);
  planted.run(1, 1, 200, 1000);
  planted.call(ApiKind::launch_graph, 2, 300, 500);
  planted.run(1, 2, 1200, 1300).graph_node_id = 11;
  planted.run(0, 2, 1300, 1500).graph_node_id = 12;
  planted.run(0, 2, 1500, 1700).graph_node_id = 13;
  auto findings = planted.ask();
  EXPECT_VALUE("dispatch.graph.launches", 1);
  EXPECT_FALSE(findings.contains("dispatch.eager.launches")) << "the eager launch was of another kernel";
  EXPECT_VALUE("dispatch.graph.launch_cost.p50", 200);
  EXPECT_VALUE("dispatch.graph.lead.p50", 500);  // ready at 1000, returned at 500
  EXPECT_VALUE("dispatch.graph.start_delay.p50", 200);  // first node at 1200, ready at 1000
  EXPECT_NE(findings.at("dispatch.graph.launches").sentence.find("2 times"), std::string::npos);
  EXPECT_VALUE("dispatch.starvation.stream.total", 0);
}

TEST(Dispatch, CapturedLaunchesAreCountedApart) {
  Planted planted = one_thread();
  planted.call(ApiKind::launch_kernel, 50, 400, 500).captured = true;
  auto findings = planted.ask();
  EXPECT_VALUE("dispatch.captured.launches", 1);
  EXPECT_VALUE("dispatch.eager.launches", 3);
}

TEST(Dispatch, OverlappingGapsOfOneStreamOrDeviceCountOnce) {
  Planted planted;
  // Two streams both dry at 1000; launches return at 3000 and 4000. Each stream starves, the device only once.
  planted.call(ApiKind::launch_kernel, 1, 0, 10);
  planted.run(0, 1, 100, 1000, 7);
  planted.call(ApiKind::launch_kernel, 2, 20, 30);
  planted.run(0, 2, 100, 1000, 8);
  planted.call(ApiKind::launch_kernel, 3, 2900, 3000);
  planted.run(0, 3, 4500, 5000, 7);
  planted.call(ApiKind::launch_kernel, 4, 3900, 4000);
  planted.run(0, 4, 4500, 5000, 8);
  auto findings = planted.ask();
  EXPECT_VALUE("dispatch.starvation.stream.total", 2000 + 3000);
  EXPECT_VALUE("dispatch.starvation.device.total", 3000);
  EXPECT_EQ(findings.at("dispatch.starvation.stream.total").evidence, Evidence::attributed)
      << "events between streams are not seen";
  EXPECT_EQ(findings.at("dispatch.eager.lead.p50").evidence, Evidence::attributed);
}

TEST(Dispatch, ReadyIsTheLatestEndNotTheLastOne) {
  Planted planted;
  // Two branches of a graph carry one stream: the short one begins later and ends earlier.
  planted.call(ApiKind::launch_graph, 1, 0, 10);
  planted.run(1, 1, 100, 5000).graph_node_id = 1;
  planted.run(1, 1, 200, 900).graph_node_id = 2;
  planted.call(ApiKind::launch_kernel, 2, 20, 30);
  planted.run(0, 2, 5200, 6000);
  auto findings = planted.ask();
  EXPECT_VALUE("dispatch.eager.lead.max", 4970);
  EXPECT_VALUE("dispatch.eager.start_delay.max", 200);
}

TEST(Dispatch, ThreadsAreKeptApart) {
  Planted planted = one_thread();
  planted.call(ApiKind::launch_kernel, 60, 20000, 20700, 5000);
  planted.run(0, 60, 21000, 22000);
  planted.off(OffCpuReason::io, 20100, 20400, 20600, 5000);
  auto findings = planted.ask("thread 5000 of python");
  EXPECT_VALUE("dispatch.eager.launches", 1);
  EXPECT_VALUE("dispatch.eager.launch_cost.off_cpu.max", 500);
  EXPECT_VALUE("dispatch.off_cpu.io", 100.0 * 300 / 700);
  findings = planted.ask();
  EXPECT_VALUE("dispatch.eager.launches", 3);
  EXPECT_FALSE(findings.contains("dispatch.off_cpu.io"));
}

TEST(Dispatch, ManyThreadsAreListedUpToALimitAndCounted) {
  Planted planted;
  for (int32_t thread = 0; thread < 12; ++thread) {
    const auto correlation = static_cast<uint32_t>(thread + 1);
    planted.call(ApiKind::launch_kernel, correlation, 1000 * thread, 1000 * thread + 100, 100 + thread);
    planted.run(0, correlation, 1000 * thread + 200, 1000 * thread + 300);
  }
  auto findings = planted.ask();
  EXPECT_VALUE("dispatch.threads_left_out", 4);
}

TEST(Dispatch, ExecutionsWithoutALaunchAreCounted) {
  Planted planted = one_thread();
  planted.run(0, 0, 13000, 14000);
  planted.run(0, 77, 15000, 16000);
  auto findings = planted.ask();
  EXPECT_VALUE("dispatch.executions_without_launch", 2);
}

// An imported file may say when a thread was off the CPU and not why: no figure may claim more.
TEST(Dispatch, OffCpuWithoutReasonsIsCountedAndBlamesNobody) {
  Planted planted = one_thread();
  planted.capture.meta["tier"] = "imported";
  for (OffCpu& interval : planted.capture.off_cpu) {
    interval.reason = OffCpuReason::unexplained;
    interval.wake_ns = interval.end_ns;
    interval.taker_thread_id = 0;
  }
  auto findings = planted.ask();
  EXPECT_VALUE("dispatch.off_cpu.total", 2400);
  EXPECT_VALUE("dispatch.off_cpu.unexplained", 100.0 * 1400 / 9000);  // outside the call that waits for the GPU
  for (const char* id : {"dispatch.cpu_taker", "dispatch.cpu_holder", "dispatch.starvation.cause"}) {
    ASSERT_TRUE(findings.contains(id)) << id;
    EXPECT_EQ(findings.at(id).evidence, Evidence::unavailable) << id;
    EXPECT_NE(findings.at(id).reason.find("not why"), std::string::npos) << id;
  }
}

TEST(Dispatch, AnImportedFileSaysItselfWhyItHasNoScheduler) {
  Planted planted = one_thread();
  planted.capture.off_cpu.clear();
  planted.capture.meta["tier"] = "imported";
  planted.capture.meta["source.sched"] = "the tool was not asked for it";
  planted.capture.meta["source.sched.advice"] = "use --switches";
  auto findings = planted.ask();
  for (const char* id : {"dispatch.eager.launch_cost.on_cpu", "dispatch.off_cpu.total", "dispatch.cpu_taker",
                         "dispatch.starvation.stream.by", "dispatch.starvation.cause"}) {
    ASSERT_TRUE(findings.contains(id)) << id;
    EXPECT_EQ(findings.at(id).reason, "the tool was not asked for it") << id;
    EXPECT_EQ(findings.at(id).advice, "use --switches") << id;
  }
}

TEST(Dispatch, TheUnprivilegedTierKnowsDeviceTimesButNoScheduler) {
  Planted planted = one_thread();
  planted.capture.off_cpu.clear();
  planted.capture.meta["tier"] = "unprivileged";
  auto findings = planted.ask();
  EXPECT_VALUE("dispatch.eager.launch_cost.max", 1000);
  EXPECT_VALUE("dispatch.starvation.stream.total", 3000);
  EXPECT_VALUE("dispatch.gpu_wait.total", 5100);
  for (const char* id : {"dispatch.eager.launch_cost.on_cpu", "dispatch.eager.launch_cost.off_cpu",
                         "dispatch.off_cpu.total", "dispatch.cpu_taker", "dispatch.starvation.stream.by"}) {
    ASSERT_TRUE(findings.contains(id)) << id;
    EXPECT_EQ(findings.at(id).evidence, Evidence::unavailable);
    EXPECT_NE(findings.at(id).reason.find("privileges"), std::string::npos);
  }
}

TEST(Dispatch, TheHostTierKnowsLaunchesAndScheduler) {
  Planted planted = one_thread();
  planted.capture.executions.clear();
  planted.capture.transfers.clear();
  planted.capture.meta["tier"] = "host";
  std::erase_if(planted.capture.api_calls, [](const ApiCall& call) { return !is_launch(call.kind); });
  for (ApiCall& call : planted.capture.api_calls) {
    call.source = Source::uprobe;
    call.correlation_id = 0;
  }
  planted.call(ApiKind::launch_kernel, 0, 9995, 9999).captured = true;
  planted.capture.api_calls.back().source = Source::uprobe;
  auto findings = planted.ask();
  EXPECT_VALUE("dispatch.eager.launches", 3);
  EXPECT_VALUE("dispatch.captured.launches", 1);
  EXPECT_VALUE("dispatch.eager.launch_cost.off_cpu.max", 300);
  EXPECT_VALUE("dispatch.off_cpu.total", 2400);
  for (const char* id : {"dispatch.eager.lead", "dispatch.eager.start_delay", "dispatch.starvation.stream.total",
                         "dispatch.starvation.device.total"}) {
    ASSERT_TRUE(findings.contains(id)) << id;
    EXPECT_FALSE(findings.at(id).value);
    EXPECT_NE(findings.at(id).advice.find("record -- CMD"), std::string::npos);
  }
  EXPECT_FALSE(findings.at("dispatch.gpu_wait.share").value) << "uprobes see no synchronising calls";
}

TEST(Dispatch, AnEmptyCaptureIsAllUnavailable) {
  Planted planted;
  planted.capture.meta["tier"] = "device";
  auto findings = planted.ask();
  EXPECT_GE(findings.size(), 5u);
  for (const auto& [id, finding] : findings) {
    EXPECT_FALSE(finding.value) << id;
  }
}

TEST(Dispatch, AMillionExecutionsAreAnswered) {
  Planted planted;
  constexpr uint32_t number = 1'000'000;
  planted.capture.executions.reserve(number);
  planted.capture.api_calls.reserve(number);
  for (uint32_t index = 0; index < number; ++index) {
    const int64_t time = int64_t{index} * 10'000;
    planted.call(ApiKind::launch_kernel, index + 1, time, time + 3'000);
    planted.run(index % 2, index + 1, time + 4'000, time + 9'000, 7 + index % 3);
    if (index % 10 == 0) {
      planted.off(OffCpuReason::futex, time + 1'000, time + 1'500, time + 2'000);
    }
  }
  auto findings = planted.ask();
  EXPECT_VALUE("dispatch.eager.launches", 500'000);
  EXPECT_VALUE("dispatch.eager.launch_cost.p99", 3'000);
  EXPECT_VALUE("dispatch.eager.launch_cost.off_cpu.max", 1'000);
  EXPECT_VALUE("dispatch.eager.start_delay.p50", 1'000);
}

}  // namespace
}  // namespace kvet::questions
