// A partition of steps: planted by hand, and over random captures it must add up.
#include "questions/step_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "questions/questions.h"

namespace kvet::questions {
namespace {

constexpr int32_t thread = 4711;

class StepPartition : public testing::Test {
 protected:
  Capture capture_;
  KernelSet set_;
  uint32_t correlation_ = 0;

  StepPartition() {
    capture_.meta["tier"] = "device";
    capture_.strings = {"", "python", "k", "other", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "step"};
    Process process;
    process.name = StringId{1};
    capture_.processes.push_back(process);
    capture_.devices.resize(1);
    for (uint32_t shape = 0; shape < 3; ++shape) {
      KernelShape entry;
      entry.id = ShapeId{shape};
      entry.name = StringId{2 + shape};
      capture_.shapes.push_back(entry);
    }
    set_.label = "k";
    set_.has_shape = {true, false, false};
  }
  // A launch call and what it started.
  void launch(uint32_t shape, int64_t call, int64_t returned, int64_t start, int64_t end, uint32_t stream = 7) {
    ApiCall api;
    api.thread_id = thread;
    api.correlation_id = ++correlation_;
    api.start_ns = call;
    api.end_ns = returned;
    capture_.api_calls.push_back(api);
    Execution execution;
    execution.shape = ShapeId{shape};
    execution.context_id = 1;
    execution.stream_id = stream;
    execution.correlation_id = correlation_;
    execution.start_ns = start;
    execution.end_ns = end;
    capture_.executions.push_back(execution);
  }
  void synchronise(int64_t start, int64_t end) {
    ApiCall api;
    api.thread_id = thread;
    api.kind = ApiKind::synchronize_stream;
    api.start_ns = start;
    api.end_ns = end;
    capture_.api_calls.push_back(api);
  }
  void copy(int64_t start, int64_t end) {
    Transfer transfer;
    transfer.context_id = 1;
    transfer.stream_id = 9;
    transfer.start_ns = start;
    transfer.end_ns = end;
    capture_.transfers.push_back(transfer);
  }
  void off(OffCpuReason reason, int64_t start, int64_t wake, int64_t end) {
    OffCpu entry;
    entry.thread_id = thread;
    entry.reason = reason;
    entry.start_ns = start;
    entry.wake_ns = wake;
    entry.end_ns = end;
    capture_.off_cpu.push_back(entry);
  }
  void range(uint32_t name, int64_t start, int64_t end) {
    Range entry;
    entry.thread_id = thread;
    entry.name = StringId{name};
    entry.start_ns = start;
    entry.end_ns = end;
    capture_.ranges.push_back(entry);
  }
  std::map<std::string, Finding> ask() {
    std::ranges::stable_sort(capture_.api_calls, {}, &ApiCall::start_ns);
    std::ranges::stable_sort(capture_.executions, {}, &Execution::start_ns);
    std::ranges::stable_sort(capture_.transfers, {}, &Transfer::start_ns);
    std::ranges::stable_sort(capture_.off_cpu, {}, &OffCpu::start_ns);
    std::map<std::string, Finding> step;
    for (Finding& finding : dispatch(capture_, set_)) {
      if (finding.id.starts_with("dispatch.step.")) {
        step[finding.id.substr(14)] = finding;
      }
    }
    return step;
  }
  // One step of 10,000 ns, from `at`: K alone 1000, K beside another 500, that one alone 500, a collective 1000, a copy
  // 1000 of which the collective hides 400; the rest idle.
  void plant(int64_t at) {
    range(5, at, at + 10'000);
    launch(0, at + 100, at + 400, at + 500, at + 2000);  // idle before: 100 running, 300 launching, 100 running
    launch(1, at + 420, at + 450, at + 1500, at + 2500, 8);
    launch(2, at + 460, at + 490, at + 2500, at + 3500);
    copy(at + 3100, at + 4100);
    synchronise(at + 3000, at + 4300);  // 200 of waiting with an idle device
    off(OffCpuReason::futex, at + 5000, at + 7000, at + 7300);
    off(OffCpuReason::preempted, at + 8000, at + 8000, at + 8400);
  }
  void plant_four() {
    for (int64_t at = 10'000; at < 90'000; at += 20'000) {
      plant(at);
    }
  }
};

double value(const std::map<std::string, Finding>& step, const std::string& id) {
  const auto found = step.find(id);
  EXPECT_NE(found, step.end()) << id;
  return found == step.end() || !found->second.value ? -1 : *found->second.value;
}

double sum_of_parts(const std::map<std::string, Finding>& step) {
  double sum = 0;
  for (const auto& [id, finding] : step) {
    sum += id.starts_with("part.") ? finding.value.value_or(0) : 0;
  }
  return sum;
}

TEST_F(StepPartition, EveryPartIsWhatWasPlanted) {
  plant_four();
  const auto step = ask();
  EXPECT_EQ(value(step, "wall"), 10'000);
  EXPECT_EQ(step.at("wall").observations, 4u);
  EXPECT_NE(step.at("wall").sentence.find("\"step\""), std::string::npos);
  EXPECT_EQ(value(step, "part.kernel.alone"), 1000);
  EXPECT_EQ(value(step, "part.kernel.beside"), 500);
  EXPECT_EQ(value(step, "part.other_kernels"), 500);
  EXPECT_EQ(value(step, "part.collectives"), 1000);
  EXPECT_EQ(value(step, "part.copies"), 600);
  EXPECT_EQ(value(step, "part.idle.launching"), 360);
  EXPECT_EQ(value(step, "part.idle.waiting_for_gpu"), 200);
  EXPECT_EQ(value(step, "part.idle.futex"), 2000);
  EXPECT_EQ(value(step, "part.idle.waiting_for_cpu"), 300);
  EXPECT_EQ(value(step, "part.idle.preempted"), 400);
  EXPECT_EQ(value(step, "part.idle.running"), 500 - 360 + 5700 - 2700);
  EXPECT_EQ(sum_of_parts(step), 10'000);
}

TEST_F(StepPartition, WithoutRangesAStepIsAPeriodAndTheLastHasNoEnd) {
  plant_four();
  capture_.ranges.clear();
  const auto step = ask();  // three kernels a step, from the first one's start
  EXPECT_EQ(value(step, "wall"), 20'000);
  EXPECT_EQ(step.at("wall").observations, 3u);
  EXPECT_EQ(value(step, "part.kernel.alone"), 1000);
  EXPECT_EQ(sum_of_parts(step), 20'000);
}

TEST_F(StepPartition, WithoutTheSchedulerIdleTimeIsNotSaidToBeRunning) {
  plant_four();
  capture_.off_cpu.clear();
  capture_.meta["tier"] = "unprivileged";
  const auto step = ask();
  EXPECT_FALSE(step.contains("part.idle.running"));
  EXPECT_EQ(value(step, "part.idle.unknown"), 500 - 360 + 5700);
  EXPECT_EQ(sum_of_parts(step), 10'000);
}

TEST_F(StepPartition, WhatDoesNotRepeatMakesNoStep) {
  launch(0, 100, 200, 300, 400);
  EXPECT_FALSE(ask().at("wall").value);
}

TEST_F(StepPartition, AddsUpWhateverRuns) {
  std::mt19937 random(20261130);
  const auto any = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)); };
  int64_t away = 0;
  for (int64_t at = 0; at < 2'000'000; at += 10'000) {
    range(5, at, at + 9'000);
    for (int index = 0; index < 6; ++index) {
      const int64_t call = at + index * 1000 + any(500), start = call + any(3000);
      launch(index == 0 ? 0 : static_cast<uint32_t>(any(3)), call, call + any(400), start, start + any(4000),
             7 + static_cast<uint32_t>(any(3)));
    }
    copy(at + any(9000), at + 9'000);
    synchronise(at + 7000, at + 7000 + any(1900));
    away = std::max(away, at) + any(3000);
    const int64_t wake = away + any(2000);
    off(OffCpuReason::io, away, wake, wake + 500);
    away = wake + 500;
  }
  const auto step = ask();
  EXPECT_EQ(value(step, "wall"), 9'000);
  EXPECT_NEAR(sum_of_parts(step), 9'000, 1e-6);
}

}  // namespace
}  // namespace kvet::questions
