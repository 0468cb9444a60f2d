// Replayed graphs: which call a node stands for.
#include <gtest/gtest.h>

#include <set>

#include "questions/nccl_parts.h"
#include "questions/nccl_planted.h"

namespace kvet::questions {
namespace {

RanksPlan graphs() {
  RanksPlan plan;
  plan.graph = true;
  plan.slow_rank = 1;
  plan.noise = 0;
  return plan;
}

std::vector<Finding> waits(const PlantedRanks& planted) {
  std::vector<Finding> out;
  for (const Finding& finding : nccl(planted.capture, planted.set())) {
    if (finding.id == "nccl.arrival_wait.max" && finding.beside == "rank 0") {
      out.push_back(finding);
    }
  }
  return out;
}

TEST(NcclGraphs, NodesAreBoundToTheCallsThatCapturedThem) {
  const PlantedRanks planted = PlantedRanks(graphs()).run();
  const auto findings = waits(planted);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].evidence, Evidence::measured) << findings[0].sentence;
  EXPECT_EQ(*findings[0].value, 24'000);
  EXPECT_EQ(findings[0].subject, "collectives: all, all_reduce of 4 MiB") << "size and type are the call's";
  const Collectives all = find_collectives(planted.capture);
  std::set<uint32_t> ranks;
  for (const Sequence& sequence : all.sequences) {
    EXPECT_TRUE(sequence.by == Sequence::By::communicator || sequence.bound);
    ranks.insert(sequence.ranks_expected);
  }
  EXPECT_EQ(ranks, std::set<uint32_t>{4});
}

// The numbers of a graph's nodes need not follow the capture; the order in which a communicator's collectives run does.
TEST(NcclGraphs, NodesAreNotBoundByTheirNumbers) {
  RanksPlan plan = graphs();
  plan.slow_layer = 3;
  PlantedRanks planted = PlantedRanks(plan).run();
  for (Execution& execution : planted.capture.executions) {
    if (execution.process.value == 1) {
      execution.graph_node_id = 10'000 - execution.graph_node_id;
    }
  }
  const auto findings = waits(planted);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].evidence, Evidence::measured);
  EXPECT_EQ(*findings[0].value, 24'000);
  EXPECT_EQ(findings[0].observations, 160u);
}

TEST(NcclGraphs, AGraphThatWasNeverReplayedLeavesThemUnbound) {
  PlantedRanks planted = PlantedRanks(graphs()).run();
  // Two more calls captured before: four nodes could be calls 0 to 3, 1 to 4 or 2 to 5.
  for (uint32_t rank = 0; rank < 4; ++rank) {
    for (int64_t i = 0; i < 2; ++i) {
      CollectiveCall call = planted.capture.collective_calls.front();
      call.process = ProcessId{rank};
      call.thread_id = 100 + static_cast<int32_t>(rank);
      call.start_ns = -900'000 + 20'000 * i;
      call.end_ns = call.start_ns + 8'000;
      planted.capture.collective_calls.push_back(call);
      ApiCall launch;
      launch.process = call.process;
      launch.thread_id = call.thread_id;
      launch.captured = true;
      launch.start_ns = call.start_ns + 1'000;
      launch.end_ns = call.start_ns + 4'000;
      planted.capture.api_calls.push_back(launch);
    }
  }
  std::ranges::stable_sort(planted.capture.collective_calls, {}, &CollectiveCall::start_ns);
  std::ranges::stable_sort(planted.capture.api_calls, {}, &ApiCall::start_ns);
  const auto findings = waits(planted);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].evidence, Evidence::attributed) << findings[0].sentence;
  EXPECT_EQ(*findings[0].value, 24'000);
}

}  // namespace
}  // namespace kvet::questions
