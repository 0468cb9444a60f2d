// Planted captures through the whole of the comparison but the questions: set, steps, blocks, word.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "verdict/comparison.h"
#include "verdict/decide.h"
#include "verdict/frame.h"
#include "verdict/planted_capture.h"

namespace kvet::verdict {
namespace {

using testing::PlantedCapture;
using testing::PlantedLoop;

struct Experiment {
  std::vector<Input> inputs;
  std::map<std::string, Capture> captures;
  FrameOptions options;
  DecisionInput decision;

  void add(Arm arm, Capture capture) {
    inputs.push_back({capture.path, arm});
    captures[capture.path] = std::move(capture);
  }
  [[nodiscard]] Loader loader() const {
    return [this](const Input& input) -> Result<Capture> { return captures.at(input.path); };
  }
  [[nodiscard]] Result<Verdict> run() const {
    auto frame = find_frame(inputs, options, loader());
    if (!frame) {
      return std::unexpected(frame.error());
    }
    auto blocks = summarise_all(inputs, *frame, loader());
    return decide(*blocks, frame->set, frame->steps, decision);
  }
  [[nodiscard]] Experiment swapped() const {
    Experiment other = *this;
    for (Input& input : other.inputs) {
      input.arm = input.arm == Arm::baseline ? Arm::candidate : Arm::baseline;
    }
    return other;
  }
};

PlantedLoop baseline_loop() { return {{{"stock_norm", 100}, {"stock_helper", 20}}}; }
PlantedLoop candidate_loop(double us) { return {{{"generated_norm", us}}}; }

// Quads in ABBA and BAAB by turns. Block b of quad q is slower by `noise` in a fixed pattern, so that units differ.
void add_quads(Experiment& experiment, const PlantedLoop& baseline, const PlantedLoop& candidate,
               const std::string& kind, int quads, double noise) {
  for (int q = 0; q < quads; ++q) {
    for (int p = 0; p < 4; ++p) {
      bool outer = p == 0 || p == 3;
      bool is_baseline = kind == "aa" || outer == (q % 2 == 0);
      PlantedLoop loop = is_baseline ? baseline : candidate;
      double factor = 1 + noise * ((q * 7 + p * 3) % 5 - 2);
      for (auto& [name, us] : loop.set_kernels) {
        us *= factor;
      }
      Capture capture = testing::planted_loop(loop, kind + std::to_string(q) + "-" + std::to_string(p) + ".kvet");
      testing::place(capture, is_baseline ? "baseline" : "candidate", kind, q, p);
      capture.meta["experiment.metric"] = is_baseline ? "1000" : "1050";
      experiment.add(is_baseline ? Arm::baseline : Arm::candidate, std::move(capture));
    }
  }
}

Experiment full(double candidate_us, double claim) {
  Experiment experiment;
  add_quads(experiment, baseline_loop(), candidate_loop(candidate_us), "ab", 4, 0.001);
  add_quads(experiment, baseline_loop(), baseline_loop(), "aa", 4, 0.001);
  experiment.decision.claim = claim;
  return experiment;
}

const Level& level(const Verdict& verdict, int number) { return verdict.levels.at(static_cast<size_t>(number - 1)); }

TEST(Comparison, WordsOfPlantedRatios) {
  // The set takes 120 µs per step in the baseline, helper included.
  EXPECT_EQ(full(80, 1.5).run()->word, Word::survives);     // 1.5 of 1.5
  EXPECT_EQ(full(100, 1.5).run()->word, Word::partial);     // 1.2
  EXPECT_EQ(full(120, 1.5).run()->word, Word::vanishes);    // 1.0
  EXPECT_EQ(full(140, 1.5).run()->word, Word::regresses);   // 0.857
  EXPECT_FALSE(full(80, 1.5).run()->likely);
}

TEST(Comparison, LevelThreeIsTheSetPerStepHelpersIncluded) {
  Verdict verdict = *full(80, 1.5).run();
  EXPECT_NEAR(level(verdict, 3).estimate->ratio, 120.0 / 80, 0.002);
  EXPECT_NEAR(*level(verdict, 3).baseline, 120'000, 150);
  EXPECT_NEAR(*level(verdict, 3).candidate, 80'000, 100);
  EXPECT_EQ(verdict.looked_at, 4U);
  EXPECT_EQ(verdict.aa_quads, 4U);
  EXPECT_EQ(verdict.step, "the NVTX range 'step #'");
}

TEST(Comparison, SwappedArmsGiveTheInverse) {
  Experiment experiment = full(80, 1.5);
  Verdict forward = *experiment.run(), backward = *experiment.swapped().run();
  for (int number : {2, 3, 4, 5}) {
    EXPECT_DOUBLE_EQ(level(forward, number).estimate->ratio * level(backward, number).estimate->ratio, 1) << number;
    EXPECT_DOUBLE_EQ(level(forward, number).estimate->interval->low * level(backward, number).estimate->interval->high,
                     1);
  }
  EXPECT_EQ(backward.word, Word::regresses);
}

TEST(Comparison, EndToEndLossTurnsAGainIntoRegresses) {
  Experiment experiment = full(80, 1.5);
  for (auto& [path, capture] : experiment.captures) {
    bool candidate = capture.meta["experiment.arm"] == "candidate";
    capture.meta["experiment.metric"] = candidate ? "960" : "1000";  // tokens per second: 4% fewer
  }
  Verdict verdict = *experiment.run();
  EXPECT_EQ(verdict.word, Word::regresses);
  EXPECT_NEAR(level(verdict, 5).estimate->ratio, 0.96, 1e-9);
  for (auto& [path, capture] : experiment.captures) {
    capture.meta["experiment.metric_better"] = "lower";  // the same figures as latencies are a gain
  }
  EXPECT_EQ(experiment.run()->word, Word::survives);
  EXPECT_NEAR(level(*experiment.run(), 5).estimate->ratio, 1 / 0.96, 1e-9);
}

TEST(Comparison, ANoisyEndToEndFigureIsNamedAsWhatLeavesItOpen) {
  Experiment experiment = full(80, 1.5);
  for (auto& [path, capture] : experiment.captures) {
    if (capture.meta["experiment.arm"] == "candidate") {
      // Quads of +10% and −10%: a mean of 0 with an interval far beyond the margin of 1%.
      bool even = (capture.meta["experiment.quad"].back() - '0') % 2 == 0;
      capture.meta["experiment.metric"] = even ? "1100" : "900";
    } else {
      capture.meta["experiment.metric"] = "1000";
    }
  }
  Verdict verdict = *experiment.run();
  EXPECT_EQ(verdict.word, Word::inconclusive);
  EXPECT_TRUE(verdict.end_to_end_undecided);
  EXPECT_EQ(verdict.spans, (std::vector<Word>{Word::regresses, Word::survives}));
  EXPECT_NE(verdict.headline.find("SURVIVES by itself, but end to end"), std::string::npos) << verdict.headline;
}

TEST(Comparison, FactsOfTheExperimentStandInForOptions) {
  Experiment experiment = full(80, 1.5);
  for (auto& [path, capture] : experiment.captures) {
    capture.meta["experiment.isolated"] = "1.6,1.4,nonsense,-3,1.5";
    capture.meta["experiment.step"] = "^step #$";  // digits read as '#'
  }
  const auto result = compare(experiment.inputs, {experiment.decision, experiment.options}, experiment.loader());
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_TRUE(level(*result, 1).estimate) << level(*result, 1).reason;
  const Verdict& verdict = *result;
  EXPECT_NEAR(level(verdict, 1).estimate->ratio, std::cbrt(1.6 * 1.4 * 1.5), 1e-9);
  EXPECT_EQ(level(verdict, 1).estimate->units, 3U);
  EXPECT_NE(verdict.step.find("^step #$"), std::string::npos) << verdict.step;
}

TEST(Comparison, AClaimsFileIsRememberedByTheCaptures) {
  Experiment experiment = full(80, 1.5);
  experiment.decision.claim.reset();
  for (auto& [path, capture] : experiment.captures) {
    capture.meta["experiment.claim"] = "1.5";
    capture.meta["experiment.claim_source"] = "KernelBench\nresults.json\n12";
    capture.meta["experiment.claim_device"] = "NVIDIA L40S";
    capture.meta["experiment.claim_ns"] = "3e+06,2e+06";
  }
  auto asked = [&] {
    return compare(experiment.inputs, {experiment.decision, experiment.options}, experiment.loader());
  };
  const auto result = asked();
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_TRUE(result->claim_source);
  EXPECT_EQ(result->claim_source->format, "KernelBench");
  EXPECT_EQ(result->claim_source->file, "results.json");
  EXPECT_EQ(result->claim_source->id, "12");
  EXPECT_EQ(result->claim_source->baseline_ns, 3e6);
  EXPECT_EQ(result->claim_source->candidate_ns, 2e6);
  const auto other = std::ranges::count(result->cautions, "claim_other_gpu", &Cause::code);
  EXPECT_EQ(other, 1);
  for (auto& [path, capture] : experiment.captures) {
    capture.meta["experiment.claim_source"] = "no line ends";
    capture.meta["experiment.claim_ns"] = "nan,-1";
  }
  EXPECT_FALSE(asked()->claim_source);
}

TEST(Comparison, OneCapturePerArmIsOnlyLikely) {
  Experiment experiment;
  PlantedLoop base = baseline_loop(), cand = candidate_loop(80);
  base.jitter = cand.jitter = 0.01;
  experiment.add(Arm::baseline, testing::planted_loop(base, "a.kvet"));
  experiment.add(Arm::candidate, testing::planted_loop(cand, "b.kvet"));
  experiment.decision.claim = 1.5;
  Verdict verdict = *experiment.run();
  EXPECT_EQ(verdict.word, Word::survives);
  EXPECT_TRUE(verdict.likely);
  EXPECT_EQ(exit_status(verdict.word, verdict.likely), 14);
  EXPECT_EQ(verdict.caps.front().code, "no_aa");
}

TEST(Comparison, ACaptureAgainstItselfNeverSurvives) {
  Experiment experiment;
  Capture capture = testing::planted_loop(baseline_loop(), "a.kvet");
  experiment.add(Arm::baseline, capture);
  capture.path = "b.kvet";
  experiment.add(Arm::candidate, capture);
  experiment.decision.claim = 1.5;
  auto without = experiment.run();
  ASSERT_FALSE(without.has_value());
  EXPECT_EQ(without.error().kind, ErrorKind::bad_input);
  EXPECT_NE(without.error().message().find("gemm"), std::string::npos);  // says what ran
  experiment.options.kernels = {"stock"};
  Verdict named = *experiment.run();
  EXPECT_EQ(named.word, Word::vanishes);
  EXPECT_DOUBLE_EQ(level(named, 3).estimate->ratio, 1);
}

TEST(Comparison, AnUnstableMachineIsRefused) {
  Experiment experiment;
  add_quads(experiment, baseline_loop(), candidate_loop(80), "ab", 4, 0.001);
  // A/A quads whose inner blocks are always 3% slower in the same sense as the quads' signs.
  for (int q = 0; q < 4; ++q) {
    for (int p = 0; p < 4; ++p) {
      bool second = (p == 1 || p == 2) == (q % 2 == 0);
      PlantedLoop loop = baseline_loop();
      loop.set_kernels[0].second *= second ? 1.03 + 0.001 * q : 1;
      Capture capture = testing::planted_loop(loop, "aa" + std::to_string(q) + std::to_string(p));
      testing::place(capture, "baseline", "aa", q, p);
      experiment.add(Arm::baseline, std::move(capture));
    }
  }
  experiment.decision.claim = 1.5;
  Verdict verdict = *experiment.run();
  EXPECT_EQ(verdict.word, Word::refused);
  EXPECT_EQ(verdict.refusals.front().code, "unstable");
}

TEST(Comparison, AnInterruptedQuadIsLeftOutAndSaid) {
  Experiment experiment = full(80, 1.5);
  Capture extra = testing::planted_loop(candidate_loop(80), "extra.kvet");
  testing::place(extra, "candidate", "ab", 9, 0);
  extra.complete = false;  // the recorder was killed: the block is not part of any quad
  experiment.add(Arm::candidate, std::move(extra));
  Verdict verdict = *experiment.run();
  EXPECT_EQ(verdict.word, Word::survives);
  ASSERT_FALSE(verdict.cautions.empty());
  EXPECT_EQ(verdict.cautions.front().code, "left_out");
}

struct Fault {
  const char* code;
  void (*plant)(Capture&);
};
class Refused : public ::testing::TestWithParam<Fault> {};

TEST_P(Refused, OneFaultyBlockIsEnough) {
  Experiment experiment = full(80, 1.5);
  GetParam().plant(
      experiment.captures.at(GetParam().code == std::string("no_executions") ? "aa2-1.kvet" : "ab2-1.kvet"));
  Verdict verdict = *experiment.run();
  ASSERT_TRUE(verdict.word == Word::refused) << verdict.headline;
  ASSERT_EQ(verdict.refusals.size(), 1U);
  EXPECT_EQ(verdict.refusals.front().code, GetParam().code);
  EXPECT_NE(verdict.refusals.front().fix, "");
  EXPECT_EQ(exit_status(verdict.word, verdict.likely), 15);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, Refused,
    ::testing::Values(
        Fault{"incomplete", [](Capture& c) { c.complete = false; }},
        Fault{"lost_records",
              [](Capture& c) { c.losses.push_back({Source::usdt, LossKind::batch_gap, {}, 64, {}, {}}); }},
        Fault{"no_executions",
              [](Capture& c) {
                c.executions.clear();
                c.api_calls.clear();
              }},
        Fault{"counts_disagree", [](Capture& c) { c.executions.erase(c.executions.begin() + 20); }},
        Fault{"counts_disagree", [](Capture& c) { c.executions.insert(c.executions.begin() + 20, c.executions[20]); }},
        Fault{"counts_disagree", [](Capture& c) { c.meta["check.launches_uprobe"] = "1000"; }},
        Fault{"different_gpu", [](Capture& c) { c.devices[0].uuid[0] = 1; }},
        Fault{"different_power_limit", [](Capture& c) { c.devices[0].power_limit_milliwatts = 350000; }},
        Fault{"different_driver", [](Capture& c) { c.meta["driver_version"] = "9.9"; }},
        Fault{"different_tier", [](Capture& c) { c.meta["tier"] = "full"; }},
        Fault{"clock_residual",
              [](Capture& c) { c.clock_mappings.push_back({ClockSource::imported, {}, 0, 0, 0, 50'000}); }}),
    [](const auto& fault) { return std::string(fault.param.code) + std::to_string(fault.index); });

TEST(Comparison, LossesOutsideTheWindowOrOfOtherSourcesDoNotRefuse) {
  Experiment experiment = full(80, 1.5);
  Capture& capture = experiment.captures.at("ab2-1.kvet");
  capture.meta["window.from_ns"] = "1000000000";
  capture.meta["window.to_ns"] = "2000000000";
  capture.losses.push_back({Source::cupti, LossKind::before_attach, {}, 5, 10, 900'000'000});
  capture.losses.push_back({Source::counters, LossKind::counter_gap, {}, 5, {}, {}});
  capture.losses.push_back({Source::scheduler, LossKind::ring_full, {}, 5, {}, {}});
  EXPECT_EQ(experiment.run()->word, Word::survives);
}

TEST(Comparison, OwnOverheadAboveTheBudgetIsRefused) {
  Experiment experiment = full(80, 1.5);
  experiment.decision.overhead = {{Arm::baseline, 1.01, {}, 1}, {Arm::candidate, 1.07, {}, 1}};
  EXPECT_EQ(experiment.run()->refusals.at(0).code, "overhead");
  experiment.decision.overhead_budget = 0.10;
  EXPECT_EQ(experiment.run()->word, Word::survives);
  // Above the budget by less than the noise of the blocks.
  experiment.decision.overhead = {{Arm::candidate, 1.07, Interval{0.99, 1.15}, 1}};
  experiment.decision.overhead_budget = 0.05;
  EXPECT_EQ(experiment.run()->word, Word::survives);
}

TEST(Comparison, AFailedCheckIsInvalidAndRefusalsComeFirst) {
  Experiment experiment = full(80, 1.5);
  experiment.captures.at("ab2-1.kvet").meta["experiment.check"] = "failed";
  EXPECT_EQ(experiment.run()->word, Word::invalid);
  experiment.captures.at("ab2-1.kvet").complete = false;
  EXPECT_EQ(experiment.run()->word, Word::refused);
}

TEST(Comparison, ACandidateThatRunsNothingIsInvalid) {
  // The candidate's loop skips the normalisation: infinitely fast, and wrong.
  Experiment experiment;
  add_quads(experiment, baseline_loop(), {{}}, "ab", 4, 0.001);
  experiment.decision.claim = 1.5;
  Verdict verdict = *experiment.run();
  EXPECT_EQ(verdict.word, Word::invalid);
  EXPECT_EQ(verdict.invalid.front().code, "execution_absent");
}

TEST(Comparison, LedgerAddsUpToTheStep) {
  Verdict verdict = *full(80, 1.5).run();
  // Each planted step: 1000 µs; 120 or 80 of the set, 300 gemm, the rest idle.
  std::map<std::string, LedgerRow> rows;
  for (const LedgerRow& row : verdict.ledger.rows) {
    rows[row.id] = row;
  }
  EXPECT_NEAR(rows["set_alone"].baseline_ns, 120'000, 150);
  EXPECT_NEAR(rows["set_alone"].difference_ns, -40'000, 150);
  EXPECT_EQ(rows["kernel"].kernel, "gemm");
  EXPECT_DOUBLE_EQ(rows["kernel"].baseline_ns, 300'000);
  EXPECT_NEAR(rows["idle"].baseline_ns, 580'000, 150);
  EXPECT_DOUBLE_EQ(verdict.ledger.baseline_wall_ns, 1'000'000);
  EXPECT_TRUE(verdict.ledger.adds_up);
  EXPECT_LT(verdict.ledger.residual_ns, 1);
  // The ceiling of a step of which the set is 12%, at r₃ = 1.5: 1 ÷ (1 − 0.12 + 0.12 ÷ 1.5) = 1.0417; the planted noise of 0.2% moves it by 0.0002.
  EXPECT_NEAR(*level(verdict, 4).held_against, 1 / (1 - 0.12 + 0.12 / 1.5), 3e-4);
}

TEST(Comparison, CoResidencyTakesItsShare) {
  // Beside a sibling in every second step the candidate takes 120 instead of 80 µs; the baseline does not suffer.
  Experiment experiment;
  for (auto [arm, name, alone, beside] :
       {std::tuple{Arm::baseline, "stock", 120, 120}, {Arm::candidate, "generated", 80, 120}}) {
    PlantedCapture planted(name);
    ShapeId kernel = planted.kernel(name), sibling = planted.kernel("sibling");
    for (int step = 0; step < 64; ++step) {
      int64_t begin = 1'000'000 * int64_t{step + 1};
      planted.range("step", begin, begin + 900'000);
      int64_t length = 1000 * (step % 2 == 0 ? alone : beside);
      planted.run(kernel, begin + 100, begin + 100 + length);
      if (step % 2 == 1) {
        planted.run(sibling, begin + 200, begin + length, 7);
      }
    }
    experiment.add(arm, planted.finish());
  }
  experiment.decision.claim = 1.5;
  Verdict verdict = *experiment.run();
  EXPECT_NEAR(level(verdict, 2).estimate->ratio, 1.5, 1e-9);  // alone
  EXPECT_NEAR(level(verdict, 3).estimate->ratio, 1.2, 1e-9);  // all: 120 ÷ 100
  const Factor* co_residency = nullptr;
  double explained = 0;
  for (const Factor& factor : verdict.where_it_went) {
    co_residency = factor.id == "co_residency" ? &factor : co_residency;
    explained += factor.id == "launch_gaps" ? 0 : factor.lost_ns.value_or(0);
  }
  ASSERT_NE(co_residency, nullptr);
  // ln(1.5) − ln(1.2) of the claimed ln(1.5) went there, that is 100 − 80 µs per step.
  EXPECT_NEAR(*co_residency->lost_log, std::log(1.5 / 1.2), 1e-9);
  EXPECT_NEAR(*co_residency->lost_ns, 20'000, 1);
  EXPECT_NEAR(explained, 20'000, 1);
}

TEST(Comparison, MixedUpArmsAreBadInput) {
  Experiment experiment = full(80, 1.5);
  experiment.inputs[0].arm = experiment.inputs[0].arm == Arm::baseline ? Arm::candidate : Arm::baseline;
  auto verdict = experiment.run();
  ASSERT_FALSE(verdict.has_value());
  EXPECT_EQ(verdict.error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace kvet::verdict
