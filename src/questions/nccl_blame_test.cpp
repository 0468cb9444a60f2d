// Blame, against captures in which it is known who made the others wait.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "questions/blame.h"
#include "questions/nccl_planted.h"

namespace kvet::questions {
namespace {

struct Answer {
  std::map<std::string, Finding> of_k;  // nccl.blame, by rank
  std::map<std::string, Finding> causes;  // by what and where
  double share = -1, count = -1;
};

Answer ask(const PlantedRanks& planted) {
  Answer answer;
  for (const Finding& finding : nccl(planted.capture, planted.set())) {
    EXPECT_EQ(finding.value.has_value(), finding.evidence != Evidence::unavailable) << finding.id;
    EXPECT_TRUE(finding.value || !finding.advice.empty()) << finding.id;
    if (finding.interval) {
      EXPECT_LE(finding.interval->low, *finding.value) << finding.id;
      EXPECT_GE(finding.interval->high, *finding.value) << finding.id;
    }
    if (finding.id == "nccl.blame" && finding.value) {
      answer.of_k[finding.beside] = finding;
    } else if (finding.id == "nccl.blame.cause") {
      answer.causes[finding.beside] = finding;
    } else if (finding.id == "nccl.blame.share") {
      answer.share = finding.value.value_or(-1);
    } else if (finding.id == "nccl.blame.causes") {
      answer.count = finding.value.value_or(-1);
    }
  }
  return answer;
}

double total(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

RanksPlan planted_at(uint64_t seed) {
  RanksPlan plan;
  plan.seed = seed;
  plan.graph = seed % 2 == 1;
  plan.own_stream = seed % 4 >= 2;
  plan.slow_rank = static_cast<int>(seed / 4 % 4);
  plan.slow_layer = static_cast<int>(seed / 16 % 4);
  plan.every = seed % 3 == 2 ? 2 : 1;
  return plan;
}

TEST(NcclBlame, NamesThePlantedKernelOnThePlantedRankInEverySeed) {
  double blamed = 0, truth = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RanksPlan plan = planted_at(seed);
    const PlantedRanks planted = PlantedRanks(plan).run();
    const Answer answer = ask(planted);
    const std::string slow = "rank " + std::to_string(plan.slow_rank);
    for (const auto& [rank, finding] : answer.of_k) {
      EXPECT_EQ(*finding.value > 0, rank == slow) << "seed " << seed << ", " << rank << ": " << finding.sentence;
    }
    ASSERT_TRUE(answer.of_k.contains(slow)) << seed;
    ASSERT_TRUE(answer.causes.contains("k on " + slow)) << seed;
    EXPECT_EQ(answer.causes.begin()->second.beside, "k on " + slow) << seed;
    blamed += *answer.of_k.at(slow).value * plan.steps;
    // What the other ranks wait without the planted delay tells what the delay cost.
    const auto own = static_cast<size_t>(plan.slow_rank);
    plan.slow_rank = -1;
    const PlantedRanks without = PlantedRanks(plan).run();
    truth += total(planted.waited) - planted.waited[own] - (total(without.waited) - without.waited[own]);
  }
  // The rest is what k varies by itself on that rank, which is to blame too and was not planted.
  EXPECT_NEAR(blamed / truth, 1, 0.15);
}

// With no noise the arithmetic is exact: the others wait for all of the delay, in each step.
TEST(NcclBlame, IsTheWholeDelayTimesTheRanksThatWait) {
  for (bool graph : {false, true}) {
    RanksPlan plan;
    plan.noise = 0;
    plan.graph = graph;
    plan.slow_rank = 2;
    const PlantedRanks planted = PlantedRanks(plan).run();
    const Answer answer = ask(planted);
    // Three ranks wait 24 µs each in the one slow layer of a step.
    EXPECT_NEAR(*answer.of_k.at("rank 2").value, 3 * 24'000, 1) << graph;
    EXPECT_NEAR(total(planted.waited), 40 * 3 * 24'000, 1);
    EXPECT_NEAR(answer.share, 100, 0.1);
    EXPECT_EQ(answer.count, 1);
    EXPECT_EQ(*answer.of_k.at("rank 0").value, 0);
  }
}

TEST(NcclBlame, BlamesNobodyWhereNobodyIsToBlame) {
  int falsely_of_k = 0, falsely_of_any = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RanksPlan plan = planted_at(seed);
    plan.slow_rank = -1;
    const Answer answer = ask(PlantedRanks(plan).run());
    ASSERT_EQ(answer.of_k.size(), 4u);
    falsely_of_k += answer.share > 0 ? 1 : 0;
    falsely_of_any += answer.count > 0 ? 1 : 0;
  }
  EXPECT_LE(falsely_of_k, 5);
  EXPECT_LE(falsely_of_any, 5);
}

TEST(NcclBlame, ACollectiveThatSpinsBesideAKernelDoesNotMakeItToBlame) {
  int falsely = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RanksPlan plan = planted_at(seed);
    plan.spin_rank = plan.slow_rank;
    plan.slow_rank = -1;
    const Answer answer = ask(PlantedRanks(plan).run());
    falsely += answer.share > 0 ? 1 : 0;
    EXPECT_TRUE(answer.causes.contains("k, beside a collective on rank " + std::to_string(plan.spin_rank))) << seed;
  }
  EXPECT_LE(falsely, 5);
}

TEST(NcclBlame, ALateDispatcherIsNamedAndNotTheKernel) {
  for (bool graph : {false, true}) {
    RanksPlan plan;
    plan.graph = graph;
    plan.late_host_rank = 3;
    const Answer answer = ask(PlantedRanks(plan).run());
    ASSERT_TRUE(answer.causes.contains("the dispatcher on rank 3")) << graph;
    // It sleeps 600 µs before each step, and three ranks wait for it.
    EXPECT_NEAR(*answer.causes.at("the dispatcher on rank 3").value, 3 * 600'000, 0.05 * 3 * 600'000);
    EXPECT_EQ(answer.share, 0);
  }
}

TEST(NcclBlame, FewStepsBlameNobodyAndSaySo) {
  RanksPlan plan;
  plan.steps = 3;
  plan.slow_rank = 1;
  plan.layers = 2;
  const Answer answer = ask(PlantedRanks(plan).run());
  EXPECT_TRUE(answer.of_k.empty());
  EXPECT_EQ(answer.count, -1);
}

// Clocks of ranks that are apart neither move the blame nor make waits.
TEST(NcclBlame, ClocksThatAreApartAreAligned) {
  RanksPlan plan;
  plan.noise = 0;
  plan.slow_rank = 2;
  PlantedRanks planted(plan);
  planted.offset_of_rank[1] = 12'000;
  planted.offset_of_rank[3] = -9'000;
  planted.run();
  const Answer answer = ask(planted);
  EXPECT_NEAR(*answer.of_k.at("rank 2").value, 3 * 24'000, 10);
  EXPECT_EQ(answer.count, 1);
}

}  // namespace
}  // namespace kvet::questions
