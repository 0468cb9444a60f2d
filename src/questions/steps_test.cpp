#include "questions/steps.h"

#include <gtest/gtest.h>

#include "questions/nccl_planted.h"

namespace kvet::questions {
namespace {

TEST(Steps, PeriodIsTheSmallestWithoutExceptionElseTheSmallestThatNearlyHolds) {
  std::vector<uint32_t> sequence;
  for (uint32_t i = 0; i < 400; ++i) {
    sequence.push_back(i % 40 == 39 ? 1 : 0);
  }
  EXPECT_EQ(period_of(sequence), 40u);
  EXPECT_EQ(period_of({7, 7, 7, 7, 7}), 1u);
  EXPECT_EQ(period_of({1, 2, 3, 1, 2, 3}), std::nullopt) << "twice is no repetition";
  EXPECT_EQ(period_of({}), std::nullopt);
  std::vector<uint32_t> disturbed;
  for (uint32_t i = 0; i < 400; ++i) {
    disturbed.push_back(i == 200 ? 9 : i % 5);
  }
  EXPECT_EQ(period_of(disturbed), 5u);
}

TEST(Steps, RangesGoFirstAndTheOuterOnesAreTheSteps) {
  Capture capture;
  capture.processes.resize(1);
  capture.strings = {"", "step 1", "step 2", "layer", "run"};
  capture.ranges.push_back({.name = {4}, .start_ns = 0, .end_ns = 100'000});
  for (int64_t i = 0; i < 10; ++i) {
    capture.ranges.push_back(
        {.name = {1 + static_cast<uint32_t>(i % 2)}, .start_ns = i * 10'000, .end_ns = i * 10'000 + 9'000});
    for (int64_t layer = 0; layer < 4; ++layer) {
      const int64_t at = i * 10'000 + layer * 2'000;
      capture.ranges.push_back({.name = {3}, .start_ns = at, .end_ns = at + 1'000});
    }
  }
  const Steps steps = find_steps(capture, "");
  EXPECT_EQ(steps.by, Steps::By::ranges);
  EXPECT_EQ(steps.how, "NVTX range \"step #\"");
  EXPECT_EQ(steps.count(), 10u);
  EXPECT_EQ(steps.at(ProcessId{0}, 20'000), 2u);
  EXPECT_EQ(steps.at(ProcessId{0}, 28'999), 2u);
  EXPECT_EQ(steps.at(ProcessId{0}, 29'000), std::nullopt);
  EXPECT_EQ(steps.at(ProcessId{3}, 29'000), std::nullopt);
  EXPECT_EQ(find_steps(capture, "^layer$").count(), 40u);
  EXPECT_EQ(find_steps(capture, "^nothing$").by, Steps::By::none);
  EXPECT_EQ(find_steps(capture, "(").by, Steps::By::none);
}

TEST(Steps, GraphLaunchesThenCollectivesThenKernels) {
  RanksPlan plan;
  plan.graph = true;
  Capture capture = PlantedRanks(plan).run().capture;
  EXPECT_EQ(find_steps(capture, "").by, Steps::By::graph_launches);
  EXPECT_EQ(find_steps(capture, "").count(), 40u);
  plan.graph = plan.ranges = false;
  capture = PlantedRanks(plan).run().capture;
  const Steps collectives = find_steps(capture, "");
  EXPECT_EQ(collectives.by, Steps::By::collectives);
  EXPECT_EQ(collectives.how, "every collective") << "all layers are alike, so nothing tells four of them from one";
  EXPECT_EQ(collectives.count(), 160u);
  std::erase_if(capture.executions, [](const Execution& one) { return one.shape.value == PlantedRanks::all_reduce; });
  const Steps kernels = find_steps(capture, "");
  EXPECT_EQ(kernels.by, Steps::By::kernels);
  EXPECT_EQ(kernels.how, "every 3 kernels");
  EXPECT_EQ(kernels.count(), 160u);
  capture.executions.clear();
  EXPECT_EQ(find_steps(capture, "").by, Steps::By::none);
}

}  // namespace
}  // namespace kvet::questions
