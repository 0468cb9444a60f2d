// The parts that make a block's numbers: intervals, sets, steps, counts, ledger.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "verdict/block_summary.h"
#include "verdict/intervals.h"
#include "verdict/ledger.h"
#include "verdict/planted_capture.h"
#include "verdict/refusals.h"

namespace kvet::verdict {
namespace {

using testing::PlantedCapture;

TEST(Intervals, UnionAndParts) {
  auto spans = merged({{30, 40}, {0, 10}, {5, 20}, {20, 25}, {50, 50}});
  EXPECT_EQ(spans, (std::vector<TimeSpan>{{0, 25}, {30, 40}}));
  EXPECT_EQ(total(spans), 35);
  EXPECT_EQ(total_within(spans, 10, 35), 20);
  EXPECT_EQ(total_within(spans, 25, 30), 0);
  EXPECT_EQ(total_within(spans, 40, 99), 0);
}

// Two arms from lists of (name, code hash, executions of 1 µs).
struct Ran {
  std::string name;
  uint64_t hash;
  int times;
};
class SetOf {
 public:
  void add(Arm arm, const std::vector<Ran>& list, bool windowed = false) {
    PlantedCapture planted("capture" + std::to_string(profiles_.size()));
    int64_t now = 1000;
    for (const Ran& ran : list) {
      ShapeId shape = planted.kernel(ran.name, ran.hash);
      for (int i = 0; i < ran.times; ++i, now += 1000) {
        planted.run(shape, now, now + 1000);
      }
    }
    if (windowed) {
      planted.fact("window.from_ns", "5000");
      planted.fact("window.to_ns", "100000000");
    }
    profiles_.emplace_back(arm, profile_of(planted.finish()));
  }
  [[nodiscard]] Result<KernelSetDefinition> find() const {
    std::vector<ArmProfile> arms;
    arms.reserve(profiles_.size());
    for (const auto& [arm, profile] : profiles_) {
      arms.push_back({arm, &profile});
    }
    return find_kernel_set(arms);
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> result;
    auto set = find();
    EXPECT_TRUE(set) << set.error().message();
    for (const KernelKey& key : set->keys) {
      result.insert(key.name);
    }
    return result;
  }

 private:
  std::vector<std::pair<Arm, CaptureProfile>> profiles_;
};

TEST(KernelSet, IsWhatOnlyOneArmRunsHelpersIncluded) {
  SetOf set;
  set.add(Arm::baseline, {{"gemm", 0, 500}, {"stock", 0, 100}});
  set.add(Arm::candidate, {{"gemm", 0, 500}, {"generated", 0, 50}, {"transpose_helper", 0, 5}});
  EXPECT_EQ(set.names(), (std::set<std::string>{"stock", "generated", "transpose_helper"}));
}

TEST(KernelSet, OneNameWithOtherCodeIsAnotherKernel) {
  SetOf set;
  set.add(Arm::baseline, {{"gemm", 7, 500}, {"triton_norm", 1, 100}});
  set.add(Arm::candidate, {{"gemm", 7, 500}, {"triton_norm", 2, 50}});
  auto found = set.find();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->keys, (std::set<KernelKey>{{"triton_norm", 1}, {"triton_norm", 2}}));
}

TEST(KernelSet, AnUnknownHashTellsNothing) {
  SetOf set;
  set.add(Arm::baseline, {{"gemm", 7, 500}, {"stock", 1, 100}});
  set.add(Arm::candidate, {{"gemm", 0, 500}, {"generated", 2, 50}});
  EXPECT_EQ(set.names(), (std::set<std::string>{"stock", "generated"}));
}

TEST(KernelSet, AnAccidentalRunInTheOtherArmDoesNotHideAKernel) {
  SetOf set;
  set.add(Arm::baseline, {{"gemm", 0, 5000}, {"stock", 0, 5000}, {"generated", 0, 1}});
  set.add(Arm::candidate, {{"gemm", 0, 5000}, {"generated", 0, 5000}});
  EXPECT_EQ(set.names(), (std::set<std::string>{"stock", "generated"}));
  EXPECT_NE(set.find()->how.find("generated also ran 1 times in the other arm"), std::string::npos);
}

TEST(KernelSet, ARareStrangerIsLeftOutAndSaid) {
  SetOf set;
  for (int i = 0; i < 4; ++i) {
    set.add(Arm::baseline, {{"gemm", 0, 3000}, {"stock", 0, 3000}});
    std::vector<Ran> list{{"gemm", 0, 3000}, {"generated", 0, 3000}};
    if (i == 2) {
      list.push_back({"garbage_collector", 0, 1});  // 1 µs of 12,001 µs, in one capture of four
    }
    set.add(Arm::candidate, list);
  }
  EXPECT_EQ(set.names(), (std::set<std::string>{"stock", "generated"}));
  ASSERT_EQ(set.find()->left_out.size(), 1U);
  EXPECT_EQ(set.find()->left_out[0].name, "garbage_collector");
  EXPECT_NE(set.find()->left_out[0].why.find("1 of 4"), std::string::npos);
}

TEST(KernelSet, ErrorsSayWhatRan) {
  SetOf same;
  same.add(Arm::baseline, {{"_Z4gemmPf", 0, 5}});
  same.add(Arm::candidate, {{"_Z4gemmPf", 0, 5}});
  EXPECT_NE(same.find().error().message().find("gemm(float*)"), std::string::npos) << same.find().error().message();
  SetOf only_candidate;
  only_candidate.add(Arm::baseline, {{"gemm", 0, 5}});
  only_candidate.add(Arm::candidate, {{"gemm", 0, 5}, {"extra", 0, 5}});
  EXPECT_NE(only_candidate.find().error().message().find("--kernel"), std::string::npos);
  SetOf none;
  none.add(Arm::baseline, {});
  none.add(Arm::candidate, {{"gemm", 0, 5}});
  EXPECT_NE(none.find().error().message().find("no kernel executions"), std::string::npos);
}

TEST(KernelSet, ACandidateThatRanOnlyBeforeTheWindowRunsNothing) {
  SetOf set;
  set.add(Arm::baseline, {{"gemm", 0, 10}, {"stock", 0, 100}}, true);
  set.add(Arm::candidate, {{"generated", 0, 4}, {"gemm", 0, 10}}, true);  // 1000 to 5000: before the window
  auto found = set.find();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_TRUE(found->candidate_runs_nothing);
  EXPECT_EQ(found->ran_outside, (std::vector<std::string>{"generated"}));
}

class Steps : public ::testing::Test {
 protected:
  // Summarises one capture whose set is the kernel "k", with steps chosen from it alone (given as both arms).
  BlockSummary summarise_one(const Capture& capture, const std::optional<std::string>& pattern = std::nullopt) {
    CaptureProfile profile = profile_of(capture);
    std::vector<ArmProfile> arms{{Arm::baseline, &profile}, {Arm::candidate, &profile}};
    KernelSetDefinition set;
    set.keys = {{"k", 0}};
    auto steps = choose_steps(arms, set, pattern);
    EXPECT_TRUE(steps) << (steps ? "" : steps.error().message());
    definition_ = *steps;
    return summarise(capture, Arm::baseline, set, *steps);
  }
  StepDefinition definition_;
};

TEST_F(Steps, TheRangeThatCoversMostTimeAndLaunchesTheSet) {
  PlantedCapture planted;
  ShapeId k = planted.kernel("k"), other = planted.kernel("other");
  planted.range("serve", 0, 100'000);
  for (int i = 0; i < 10; ++i) {
    int64_t begin = 1000 + 9000 * int64_t{i};
    planted.range("step " + std::to_string(i), begin, begin + 8000);
    planted.run(k, begin + 100, begin + 1100);
    planted.range("norm", begin + 50, begin + 600);  // inside a step, twice
    planted.range("norm", begin + 600, begin + 1200);
    for (int j = 0; j < 3; ++j) {  // more frequent, but without the set
      planted.range("sampling", begin + 2000 + 1000 * j, begin + 2900 + 1000 * j);
      planted.run(other, begin + 2100 + 1000 * j, begin + 2200 + 1000 * j);
    }
  }
  BlockSummary block = summarise_one(planted.finish());
  EXPECT_EQ(definition_.names, (std::vector<std::string>{"step #"}));
  EXPECT_EQ(block.steps, 10U);
  EXPECT_DOUBLE_EQ(*block.set_time_per_step_ns, 1000);
  EXPECT_DOUBLE_EQ(*block.step_median_ns, 8000);
  EXPECT_DOUBLE_EQ(block.set_share_outside_steps, 0);
  summarise_one(planted.finish(), "sampl");
  EXPECT_EQ(definition_.names, (std::vector<std::string>{"sampling"}));
}

TEST_F(Steps, AStepEndsWithItsLastExecution) {
  PlantedCapture planted;
  ShapeId k = planted.kernel("k");
  for (int i = 0; i < 4; ++i) {
    int64_t begin = 10'000 * int64_t{i + 1};
    planted.range("step", begin, begin + 500);        // the host is done early
    planted.run(k, begin + 100, begin + 4100);        // launched within, ends 4100 after the begin
  }
  EXPECT_DOUBLE_EQ(*summarise_one(planted.finish()).step_median_ns, 4100);
}

TEST_F(Steps, GraphLaunchesWithoutRanges) {
  PlantedCapture planted;
  ShapeId k = planted.kernel("k"), other = planted.kernel("other");
  for (int i = 0; i < 6; ++i) {
    int64_t begin = 10'000 * int64_t{i + 1};
    planted.replay(3, {{k, begin, begin + 1000}, {other, begin + 1500, begin + 2500}});
    planted.replay(4, {{other, begin + 5000, begin + 6000}});  // a graph without the set is no step
  }
  BlockSummary block = summarise_one(planted.finish());
  EXPECT_EQ(definition_.kind, StepKind::graph_launch);
  EXPECT_EQ(block.steps, 6U);
  EXPECT_DOUBLE_EQ(*block.step_median_ns, 2500);
}

TEST_F(Steps, ASharedKernelOfTheSetsStreamMarksTheWork) {
  PlantedCapture planted;
  ShapeId k = planted.kernel("k"), gemm = planted.kernel("gemm"), beside = planted.kernel("background");
  for (int i = 0; i < 5; ++i) {
    int64_t begin = 10'000 * int64_t{i + 1};
    planted.run(k, begin, begin + 1000);
    planted.run(k, begin + 1000, begin + 2000);
    planted.run(gemm, begin + 2000, begin + 4000);
    for (int j = 0; j < 4; ++j) {  // more often, on a stream of its own: it follows the clock, not the work
      planted.run(beside, begin + 1000 * j, begin + 1000 * j + 500, 7);
    }
  }
  BlockSummary block = summarise_one(planted.finish());
  EXPECT_EQ(definition_.kind, StepKind::shared_kernel);
  EXPECT_EQ(definition_.names, (std::vector<std::string>{"gemm"}));
  EXPECT_DOUBLE_EQ(*block.set_time_per_step_ns, 2000);
  EXPECT_FALSE(block.step_median_ns.has_value());
}

TEST_F(Steps, OverlappingExecutionsOfTheSetCountOnce) {
  PlantedCapture planted;
  ShapeId k = planted.kernel("k");
  for (int i = 0; i < 3; ++i) {
    int64_t begin = 10'000 * int64_t{i + 1};
    planted.range("step", begin - 100, begin + 5000);
    planted.run(k, begin, begin + 1000, 1);
    planted.run(k, begin + 500, begin + 1500, 2);
  }
  BlockSummary block = summarise_one(planted.finish());
  EXPECT_DOUBLE_EQ(*block.set_time_per_step_ns, 1500);
  EXPECT_EQ(block.solo_executions, 0U);
  EXPECT_FALSE(block.solo_time_per_step_ns.has_value());
}

TEST_F(Steps, OnlyTheWindowCounts) {
  PlantedCapture planted;
  ShapeId k = planted.kernel("k");
  for (int i = 0; i < 10; ++i) {
    int64_t begin = 10'000 * int64_t{i + 1};
    planted.range("step", begin, begin + 5000);
    planted.run(k, begin + 100, begin + 100 + (i < 5 ? 4000 : 1000));  // slow while warming up
  }
  planted.fact("window.from_ns", "55000");
  planted.fact("window.to_ns", "200000");
  BlockSummary block = summarise_one(planted.finish());
  EXPECT_EQ(block.steps, 5U);
  EXPECT_DOUBLE_EQ(*block.set_time_per_step_ns, 1000);
  EXPECT_EQ(block.set_executions_outside, 5U);
}

TEST_F(Steps, LedgerOfOverlapsCopiesAndGaps) {
  PlantedCapture planted;
  ShapeId k = planted.kernel("k"), sibling = planted.kernel("sibling"),
          nccl = planted.kernel("_Z27ncclDevKernel_AllReducev");
  for (int i = 0; i < 4; ++i) {
    int64_t begin = 100'000 * int64_t{i + 1};
    planted.range("step", begin, begin + 20'000);
    planted.run(k, begin + 1000, begin + 5000);             // 1 to 5, beside the sibling from 3 on
    planted.run(sibling, begin + 3000, begin + 8000, 2);    // alone from 5 to 8
    planted.run(nccl, begin + 7000, begin + 10'000, 3);     // exposed from 8 to 10
    planted.copy(begin + 9000, begin + 12'000);             // exposed from 10 to 12
    planted.run(k, begin + 15'000, begin + 16'000);         // behind a gap of 3
  }
  BlockLedger ledger = *summarise_one(planted.finish()).step_ledger;
  EXPECT_DOUBLE_EQ(ledger.set_alone, 3000);
  EXPECT_DOUBLE_EQ(ledger.set_beside, 2000);
  EXPECT_DOUBLE_EQ(ledger.kernels.at("sibling"), 3000);
  EXPECT_DOUBLE_EQ(ledger.collectives, 2000);
  EXPECT_DOUBLE_EQ(ledger.copies, 2000);
  EXPECT_DOUBLE_EQ(ledger.idle, 1000 + 3000 + 4000);
  EXPECT_DOUBLE_EQ(ledger.idle_before_set, 1000 + 3000);
  EXPECT_DOUBLE_EQ(ledger.wall, 20'000);
}

CountsCheck check(const Capture& capture) { return check_counts(capture, window_of(capture)); }

Capture graphs(int replays) {
  PlantedCapture planted;
  ShapeId a = planted.kernel("a"), b = planted.kernel("b");
  for (int i = 0; i < replays; ++i) {
    int64_t begin = 10'000 * int64_t{i + 1};
    planted.replay(1, {{a, begin, begin + 100}, {b, begin + 100, begin + 200}, {a, begin + 200, begin + 300}});
    planted.run(b, begin + 5000, begin + 5100);
  }
  return planted.finish();
}

TEST(Counts, AgreeWhereNothingIsMissing) {
  CountsCheck counts = check(graphs(10));
  EXPECT_EQ(counts.launches, 10U);
  EXPECT_EQ(counts.graph_launches, 10U);
  EXPECT_EQ(counts.executions, 40U);
  EXPECT_TRUE(counts.disagreements.empty());
  EXPECT_TRUE(counts.notes.empty());
}

TEST(Counts, EveryDeletedExecutionIsFound) {
  // Whichever it is: of a graph or eager, first or last; also with as few as two replays.
  for (int replays : {2, 3, 10}) {
    const Capture whole = graphs(replays);
    for (size_t i = 0; i < whole.executions.size(); ++i) {
      Capture capture = whole;
      capture.executions.erase(capture.executions.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_EQ(check(capture).missing_executions, 1U) << i << " of " << replays;
      EXPECT_EQ(check(capture).disagreements.size(), 1U);
    }
  }
}

TEST(Counts, WhatAnImportedFileCutsOffAtItsEndIsNotMissing) {
  Capture capture = graphs(10);
  capture.meta["tier"] = "imported";
  // The last eager kernel was in flight; the file ends before it did.
  std::erase_if(capture.executions, [](const Execution& execution) { return execution.start_ns >= 105'000; });
  EXPECT_EQ(check(capture).missing_executions, 0U);
  ASSERT_EQ(check(capture).notes.size(), 1U);
  EXPECT_NE(check(capture).notes[0].find("1 launches were in flight"), std::string::npos);
  // One before that is a gap.
  std::erase_if(capture.executions, [](const Execution& execution) { return execution.start_ns == 55'000; });
  EXPECT_EQ(check(capture).missing_executions, 1U);
}

TEST(Counts, AReplayWithoutAnyExecutionIsMissing) {
  PlantedCapture planted;
  ShapeId a = planted.kernel("a");
  for (int i = 0; i < 5; ++i) {
    planted.replay(1, {{a, 1000 * (i + 1), 1000 * (i + 1) + 100}});
  }
  Capture capture = planted.finish();
  capture.executions.pop_back();
  EXPECT_EQ(check(capture).missing_executions, 1U);
}

TEST(Counts, CapturedLaunchesExecuteNothing) {
  Capture capture = graphs(3);
  ApiCall call = capture.api_calls.front();
  call.kind = ApiKind::launch_kernel;
  call.correlation_id = 9999;
  capture.api_calls.push_back(call);
  EXPECT_EQ(check(capture).missing_executions, 1U);
  capture.meta["check.launches_captured"] = "1";  // the uprobes saw it under stream capture
  EXPECT_EQ(check(capture).missing_executions, 0U);
  capture.meta.clear();
  capture.api_calls.back().captured = true;
  EXPECT_EQ(check(capture).missing_executions, 0U);
  capture.api_calls.back().captured = false;
  capture.api_calls.back().result = 700;  // a launch that failed
  EXPECT_EQ(check(capture).missing_executions, 0U);
}

TEST(Counts, ConditionalNodesAreTheProgramsBusiness) {
  PlantedCapture planted;
  ShapeId a = planted.kernel("a"), body = planted.kernel("body");
  for (int i = 0; i < 40; ++i) {
    int64_t begin = 10'000 * int64_t{i + 1};
    std::vector<PlantedCapture::Node> nodes{{a, begin, begin + 100}};
    if (i % 3 == 0) {
      nodes.push_back({body, begin + 200, begin + 300});
    }
    planted.replay(1, nodes);
  }
  CountsCheck counts = check(planted.finish());
  EXPECT_TRUE(counts.disagreements.empty());
  EXPECT_EQ(counts.notes.size(), 1U);
}

TEST(Counts, UprobesMayHaveSeenAFewInFlight) {
  Capture capture = graphs(10);  // 20 launch records
  capture.meta["check.launches_uprobe"] = "22";
  EXPECT_TRUE(check(capture).disagreements.empty());
  EXPECT_EQ(check(capture).notes.size(), 1U);
  capture.meta["check.launches_uprobe"] = "40";
  EXPECT_EQ(check(capture).disagreements.size(), 1U);
}

TEST(Counts, HostFunctionsAreLaunchesToTheUprobesToo) {
  Capture capture = graphs(10);  // 20 launch records
  ApiCall call = capture.api_calls.back();
  call.kind = ApiKind::launch_host_function;
  for (int i = 0; i < 20; ++i) {
    ++call.correlation_id;
    capture.api_calls.push_back(call);
  }
  capture.meta["check.launches_uprobe"] = "40";
  EXPECT_TRUE(check(capture).disagreements.empty());
  EXPECT_TRUE(check(capture).notes.empty());
}

TEST(Codes, EveryOneIsDocumented) {
  std::ifstream file(std::string(KVET_SOURCE_DIR) + "/docs/verdict-schema.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(text.empty());
  // As they stand in the code: the first text in quotes behind one of these.
  size_t found = 0;
  for (const char* name : {"decide.cpp", "refusals.cpp"}) {
    std::ifstream source(std::string(KVET_SOURCE_DIR) + "/src/verdict/" + name);
    const std::string code{std::istreambuf_iterator<char>(source), {}};
    for (const std::string opening : {"push_back(", "collector.add("}) {
      for (size_t at = code.find(opening); at != std::string::npos; at = code.find(opening, at + 1)) {
        const size_t quote = code.find('"', at), end = code.find('"', quote + 1);
        const std::string between = code.substr(at, quote - at);
        if (between.find(';') == std::string::npos &&
            (opening == "collector.add(" || between.find('{') != std::string::npos)) {
          EXPECT_NE(text.find("`" + code.substr(quote + 1, end - quote - 1) + "`"), std::string::npos)
              << code.substr(at, end - at);
          ++found;
        }
      }
    }
  }
  EXPECT_GE(found, 18U);
}

TEST(Refusals, CountersFromOutsideJudgeTheRecords) {
  BlockSummary baseline, candidate;
  baseline.complete = candidate.complete = true;
  baseline.executions = candidate.executions = baseline.set_executions = candidate.set_executions = 10;
  candidate.arm = Arm::candidate;
  auto codes = [&](double of_baseline, double of_candidate) {
    baseline.blocks_ratio = of_baseline;
    candidate.blocks_ratio = of_candidate;
    std::vector<std::string> result;
    const std::vector<OwnOverhead> none;
    for (const Cause& cause : refusals({{&baseline, &candidate}, 1.5, none, 0.05})) {
      result.push_back(cause.code);
    }
    return result;
  };
  const std::vector<std::string> refused{"blocks_disagree"};
  EXPECT_TRUE(codes(1.0, 1.0).empty());
  EXPECT_TRUE(codes(1.05, 1.052).empty());  // the driver's own kernels, in both arms alike
  EXPECT_EQ(codes(1.0, 0.97), refused);     // records of work that never ran
  EXPECT_EQ(codes(1.0, 1.03), refused);     // work that the candidate hides
}

}  // namespace
}  // namespace kvet::verdict
