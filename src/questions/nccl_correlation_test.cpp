// Correlation, contention of the start, and resident wait, against planted truth.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "questions/nccl_planted.h"

namespace kvet::questions {
namespace {

std::map<std::string, Finding> ask(const PlantedRanks& planted) {
  std::map<std::string, Finding> by_id;
  for (const Finding& finding : nccl(planted.capture, planted.set())) {
    if (finding.subject == "k") {
      by_id[finding.id + (finding.beside.empty() ? "" : " @ " + finding.beside)] = finding;
    }
  }
  return by_id;
}

// k takes longer on rank 1 in every second step: then the others wait.
TEST(NcclCorrelation, GoesWithTheWaitsThatItCauses) {
  RanksPlan plan;
  plan.slow_rank = 1;
  plan.every = 2;
  plan.slow_ns = 60'000;
  const auto findings = ask(PlantedRanks(plan).run());
  const Finding& found = findings.at("nccl.correlation @ rank 1");
  ASSERT_TRUE(found.value) << found.reason;
  EXPECT_GT(*found.value, 0.6);
  ASSERT_TRUE(found.interval);
  EXPECT_GT(found.interval->low, 0.3);
  EXPECT_EQ(found.observations, 34u) << "40 steps, less three at either end";
}

// All kernels become slower together, as when prompts grow, so k's time and all waiting rise together. But everybody waits for rank 1,
// whose dispatcher sleeps, never for rank 2.
TEST(NcclCorrelation, ACommonTrendIsNone) {
  int beyond = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    RanksPlan plan;
    plan.seed = seed;
    plan.growth = 2;
    plan.layers = 1;
    plan.late_host_rank = 1;
    const auto findings = ask(PlantedRanks(plan).run());
    const Finding& found = findings.at("nccl.correlation @ rank 2");
    ASSERT_TRUE(found.value) << found.reason;
    beyond += found.interval->low > 0 || found.interval->high < 0 ? 1 : 0;
  }
  // 5% of 40 are 2; more than 6 come by chance in less than 1% of all choices of seeds.
  EXPECT_LE(beyond, 6);
}

TEST(NcclCorrelation, ExecutionsBesideACollectiveAreLeftOut) {
  RanksPlan plan;
  plan.spin_rank = 1;
  plan.every = 2;
  auto findings = ask(PlantedRanks(plan).run());
  const Finding& found = findings.at("nccl.correlation @ rank 1");
  ASSERT_TRUE(found.value) << found.reason;
  EXPECT_NE(found.sentence.find("40 executions beside a collective are left out"), std::string::npos) << found.sentence;
}

// A device of 132 SMs: k holds 2 of its blocks on each, with all registers; the collective has 16 blocks.
PlantedRanks beside(uint32_t registers) {
  RanksPlan plan;
  plan.noise = 0;
  plan.spin_rank = 1;  // an all-gather begins 1 µs after k, and ends with it
  PlantedRanks planted(plan);
  for (Device& device : planted.capture.devices) {
    device.compute_major = 9;
    device.multiprocessors = 132;
    device.max_warps_per_multiprocessor = 64;
    device.max_blocks_per_multiprocessor = 32;
    device.max_registers_per_multiprocessor = 65536;
    device.max_shared_bytes_per_multiprocessor = 233472;
    device.max_shared_bytes_per_block = 232448;
  }
  for (KernelShape& shape : planted.capture.shapes) {
    shape.grid = {16, 1, 1};
    shape.block = {512, 1, 1};
    shape.registers_per_thread = 96;
  }
  KernelShape& k = planted.capture.shapes[PlantedRanks::k];
  k.grid = {264, 1, 1};
  k.block = {256, 1, 1};
  k.registers_per_thread = registers;
  planted.run();
  return planted;
}

TEST(NcclResidentWait, IsNothingWhereTheBlocksFitAndElseUntilTheKernelEnds) {
  // 2 × 256 × 32 registers leave 49,152: a block of 512 × 96 registers fits.
  auto findings = ask(beside(32));
  ASSERT_TRUE(findings.contains("nccl.resident_wait.max"));
  EXPECT_EQ(*findings.at("nccl.resident_wait.max").value, 0);
  EXPECT_EQ(findings.at("nccl.resident_wait.max").evidence, Evidence::modelled);
  // 2 × 256 × 128 are all there are.
  findings = ask(beside(128));
  ASSERT_TRUE(findings.contains("nccl.resident_wait.max"));
  // k takes 104 µs there, and the collective begins 1 µs after it.
  EXPECT_EQ(*findings.at("nccl.resident_wait.max").value, 103'000);
  EXPECT_EQ(findings.at("nccl.resident_wait.max").observations, 40u);
}

TEST(NcclResidentWait, IsUnavailableWhereNothingRunsBeside) {
  const auto findings = ask(PlantedRanks(RanksPlan{}).run());
  EXPECT_FALSE(findings.at("nccl.resident_wait").value);
  EXPECT_NE(findings.at("nccl.resident_wait").reason.find("no collective began"), std::string::npos);
}

// In every second step k of another stream holds the device when the collective is ready, which then starts 7 µs later. What k is
// slower by itself does not come into it.
TEST(NcclContention, StartsLaterBesideTheKernel) {
  RanksPlan plan;
  plan.noise = 0;
  plan.layers = 1;
  PlantedRanks planted = PlantedRanks(plan).run();
  std::vector<Execution> more;
  int number = 0;
  for (Execution& execution : planted.capture.executions) {
    if (execution.shape.value == PlantedRanks::all_reduce && number++ / 4 % 2 == 1) {
      Execution k = execution;
      k.shape = ShapeId{PlantedRanks::k};
      k.stream_id = 31;
      k.correlation_id = 0;
      k.start_ns = execution.start_ns - 100;
      execution.start_ns += 7'000;
      execution.end_ns += 7'000;
      k.end_ns = execution.start_ns + 10'000;
      more.push_back(k);
    }
  }
  planted.capture.executions.insert(planted.capture.executions.end(), more.begin(), more.end());
  std::ranges::stable_sort(planted.capture.executions, {}, &Execution::start_ns);
  const auto findings = ask(planted);
  const Finding& found = findings.at("nccl.contention.start_delay");
  ASSERT_TRUE(found.value) << found.reason;
  EXPECT_NEAR(*found.value, 7'000, 1);
  EXPECT_EQ(found.observations, 80u);
}

}  // namespace
}  // namespace kvet::questions
