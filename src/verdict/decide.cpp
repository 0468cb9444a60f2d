#include "verdict/decide.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "verdict/claim_check.h"
#include "verdict/levels.h"
#include "verdict/where_it_went.h"

namespace kvet::verdict {
namespace {

// Captures know which arm they were recorded as. Given the other way round, all of them, the arms are swapped on
// purpose; a mixture is a mistake.
Result<bool> arms_swapped(const std::vector<BlockSummary>& blocks) {
  const BlockSummary* agrees = nullptr;
  const BlockSummary* differs = nullptr;
  for (const BlockSummary& block : blocks) {
    if (block.identity.recorded_arm.empty() || block.identity.kind == "aa") {
      continue;
    }
    (block.identity.recorded_arm == name(block.arm) ? agrees : differs) = &block;
  }
  if (agrees != nullptr && differs != nullptr) {
    return fail(ErrorKind::bad_input,
                fmt::format("recorded as {}, given as {}", differs->identity.recorded_arm, name(differs->arm)),
                differs->path, "give all captures of one arm on one side of --against");
  }
  return differs != nullptr;
}

void check_correctness(Verdict& verdict, const std::vector<BlockSummary>& blocks, const KernelSetDefinition& set,
                       const DecisionInput& input) {
  bool passed = false, failed = false;
  for (const BlockSummary& block : blocks) {
    passed = passed || block.identity.check == "passed";
    failed = failed || block.identity.check == "failed";
  }
  verdict.check = failed || input.failed_check ? "failed" : passed ? "passed" : "unchecked";
  if (verdict.check == "failed") {
    verdict.invalid.push_back({"check_failed", input.failed_check.value_or("the output check failed"),
                               "run the check by hand and mend the kernel: a wrong result has no speed"});
  }
  if (set.candidate_runs_nothing) {
    std::string what = "the candidate ran nothing in place of the baseline's kernels";
    if (!set.ran_outside.empty()) {
      what =
          fmt::format("{} ran only outside the measured window: the workload does not use it", set.ran_outside.front());
    }
    verdict.invalid.push_back({"execution_absent", what,
                               "see that the candidate is on the path that production runs: a captured graph keeps the "
                               "kernel that it was captured with"});
    return;
  }
  for (const BlockSummary& block : blocks) {
    if (block.arm == Arm::candidate && block.identity.kind != "aa" && block.set_executions == 0) {
      verdict.invalid.push_back({"execution_absent",
                                 fmt::format("{}: no kernel of the set ran in the window", block.path),
                                 "see that the candidate is on the path that production runs"});
      return;
    }
  }
}

void check_stability(Verdict& verdict, const std::vector<BlockSummary>& blocks, const Grouping& grouping) {
  verdict.aa_quads = grouping.aa_quads.size();
  auto units = contrasts(blocks, grouping.aa_quads, set_time_per_step);
  auto interval = units ? t_interval(*units, aa_confidence) : std::nullopt;
  if (interval) {
    verdict.aa = estimate_of(*interval, "quads");
  }
  // Times are whole nanoseconds: what differs by less than one of them in a step's time is the same.
  double resolution = 0;
  std::string without;
  for (const Quad& quad : grouping.aa_quads) {
    for (size_t index : {quad.first[0], quad.first[1], quad.second[0], quad.second[1]}) {
      const BlockSummary& block = blocks[index];
      resolution = std::max(resolution, 1 / block.set_time_per_step_ns.value_or(HUGE_VAL));
      without = without.empty() && !block.set_time_per_step_ns ? block.path : without;
    }
  }
  if (verdict.aa_quads < least_aa_quads) {
    verdict.caps.push_back(
        {"no_aa",
         fmt::format("{} of at least {} quads of the baseline against itself", verdict.aa_quads, least_aa_quads),
         "run `kvet validate` without --no-aa"});
  } else if (!interval) {
    verdict.caps.push_back(
        {"no_aa", without + ": no step, or no kernel of the set, in this block of the baseline against itself",
         "look at the block's log, remove its capture, and go on with --resume"});
  } else if (interval->low > resolution || interval->high < -resolution) {
    verdict.refusals.push_back(
        {"unstable",
         fmt::format("the baseline differs from itself: {:.4f} (99% interval {:.4f} to {:.4f})",
                     std::exp(interval->estimate), std::exp(interval->low), std::exp(interval->high)),
         "quieten the machine: fix the clocks (nvidia-smi -lgc), end other jobs, lengthen the warm-up"});
  }
}

void add_caps(Verdict& verdict, const Basis& basis, const Grouping& grouping) {
  if (!basis.in_quads()) {
    bool one_each = basis.used(Arm::baseline).size() == 1 && basis.used(Arm::candidate).size() == 1;
    verdict.caps.push_back({one_each ? "one_capture_per_arm" : "no_quads",
                            one_each ? "one capture per arm: the difference between two runs is not in the interval"
                                     : "the captures were not recorded in ABBA quads: drift is not cancelled",
                            "let `kvet validate` or `kvet try` run the arms in quads"});
  } else if (basis.units() < looks.front()) {
    verdict.caps.push_back({"few_quads", fmt::format("{} of {} quads", basis.units(), looks.front()),
                            "let `kvet validate` run on: a word needs 4 quads"});
  }
  for (const std::string& sentence : grouping.left_out) {
    verdict.cautions.push_back({"left_out", sentence, "resume the run: kvet validate --resume"});
  }
  if (basis.in_quads() && grouping.loose_baseline.size() + grouping.loose_candidate.size() > 0) {
    verdict.cautions.push_back(
        {"left_out",
         fmt::format("{} captures belong to no quad", grouping.loose_baseline.size() + grouping.loose_candidate.size()),
         ""});
  }
}

void add_cautions(Verdict& verdict, const std::vector<BlockSummary>& blocks, const Basis& basis,
                  const DecisionInput& input) {
  auto shared = [](const BlockSummary& block) { return std::optional<double>(block.shared_executions_per_step); };
  auto baseline = basis.mean_of(Arm::baseline, shared), candidate = basis.mean_of(Arm::candidate, shared);
  // Different work shows in the kernels that both arms run.
  if (baseline && candidate && *baseline > 0 && std::abs(*candidate / *baseline - 1) > 0.02) {
    verdict.cautions.push_back(
        {"different_work",
         fmt::format("per step the arms ran {:.1f} and {:.1f} executions of kernels outside the set", *baseline,
                     *candidate),
         "fix the load's seed and length, or name a step that is the same work in both arms"});
  }
  auto outside = basis.mean_of(
      Arm::baseline, [](const BlockSummary& block) { return std::optional<double>(block.set_share_outside_steps); });
  if (outside && *outside > 0.05) {
    verdict.cautions.push_back(
        {"outside_steps",
         fmt::format("{:.0f}% of the set's time lies outside the steps; level 3 counts it", 100 * *outside),
         "choose another step: step = 'REGEX'"});
  }
  for (const OwnOverhead& overhead : input.overhead) {
    if (overhead.slow_down - 1 > input.overhead_budget ||
        (overhead.interval && overhead.interval->high - 1 > input.overhead_budget)) {
      verdict.cautions.push_back(
          {"overhead_unclear",
           fmt::format("whether recording stays within {:.0f}% is not resolved", 100 * input.overhead_budget),
           "lengthen the load: its figure varies more than the budget"});
      break;
    }
  }
  for (const BlockSummary& block : blocks) {
    for (const std::string& note : block.counts.notes) {
      if (std::none_of(verdict.cautions.begin(), verdict.cautions.end(),
                       [](const Cause& cause) { return cause.code == "counts"; })) {
        verdict.cautions.push_back({"counts", block.path + ": " + note, ""});
      }
    }
  }
}

// The word of levels 3 and 5, before refusals and validity have their say.
void give_word(Verdict& verdict, const std::optional<LogInterval>& set, const std::optional<LogInterval>& end_to_end,
               const Cuts& cuts) {
  if (!set) {
    verdict.word = Word::inconclusive;
    verdict.more_units_reason = "level 3 has no figure: the set or the step is missing in a block";
    return;
  }
  const Word alone = word_of(*set, cuts);
  bool gated = end_to_end && std::isfinite(end_to_end->low);
  verdict.word = gated ? gate_end_to_end(alone, *end_to_end) : alone;
  if (!end_to_end) {
    verdict.cautions.push_back({"no_metric", "the workload's own figure was not taken: nothing guards the end to end",
                                "add [workload] metric = { regex = '…', better = \"higher\" }"});
  }
  if (alone == Word::regresses) {
    verdict.word = Word::regresses;
  }
  if (verdict.word != Word::inconclusive) {
    return;
  }
  if (alone == Word::inconclusive) {
    verdict.spans = words_spanned(*set, cuts);
    verdict.more_units = std::isfinite(set->low) ? units_to_decide(*set, cuts) : std::nullopt;
    verdict.more_units_reason = std::isfinite(set->low)
                                    ? "the ratio lies so near a cut that more units would not decide"
                                    : "one observation has no interval";
  } else {
    verdict.spans = {Word::regresses, alone};
    verdict.end_to_end_undecided = true;
    verdict.more_units = units_to_exclude(*end_to_end, -std::log(end_to_end_margin_ratio));
    verdict.more_units_reason = "the end-to-end figure lies so near its margin that more units would not decide";
  }
  if (verdict.more_units) {
    *verdict.more_units -= std::min(*verdict.more_units, set->units);
  }
}

std::string headline(const Verdict& verdict) {
  std::string text = verdict.likely ? "likely " : "";
  text += name(verdict.word);
  if (verdict.word == Word::refused || verdict.word == Word::invalid) {
    const Cause& cause = verdict.word == Word::refused ? verdict.refusals.front() : verdict.invalid.front();
    return text + ": " + cause.what;
  }
  const Level& level = verdict.levels.at(2);
  if (level.estimate) {
    text += fmt::format(": the kernel set is {:.3f} times as fast in the workload", level.estimate->ratio);
    if (level.estimate->interval) {
      text += fmt::format(" ({:.3f} to {:.3f})", level.estimate->interval->low, level.estimate->interval->high);
    }
  } else {
    text += ": no figure at level 3";
  }
  if (verdict.end_to_end_undecided) {
    const auto& interval = verdict.levels.at(4).estimate->interval;
    text += fmt::format(": {} by itself, but end to end ({:.3f} to {:.3f}) it may be a loss",
                        name(verdict.spans.back()), interval->low, interval->high);
  } else if (!verdict.spans.empty() && verdict.spans.size() <= 2) {
    text += fmt::format(", between {} and {}", name(verdict.spans.front()), name(verdict.spans.back()));
  }
  text += verdict.claim ? fmt::format(", claimed was {:.3g}", *verdict.claim) : ", no claim was given";
  if (verdict.check == "unchecked") {
    text += "; outputs unchecked";
  }
  return text;
}

}  // namespace

std::optional<LogInterval> running_ratio(const std::vector<BlockSummary>& blocks) {
  Grouping grouping;
  for (size_t i = 0; i < blocks.size(); ++i) {
    (blocks[i].arm == Arm::baseline ? grouping.loose_baseline : grouping.loose_candidate).push_back(i);
  }
  return Basis(blocks, grouping, 0).log_ratio(set_time_per_step);
}

Verdict invalid_verdict(std::optional<double> claim, const std::string& failed_check) {
  Verdict verdict;
  verdict.claim = claim;
  DecisionInput input;
  input.failed_check = failed_check;
  check_correctness(verdict, {}, {}, input);
  verdict.word = Word::invalid;
  add_cost(verdict, input);
  add_advice(verdict);
  verdict.headline = headline(verdict);
  return verdict;
}

Result<Verdict> decide(const std::vector<BlockSummary>& blocks, const KernelSetDefinition& set,
                       const StepDefinition& steps, const DecisionInput& input) {
  auto cuts = cuts_for_claim(input.claim);
  if (!cuts) {
    return std::unexpected(cuts.error());
  }
  auto swapped = arms_swapped(blocks);
  if (!swapped) {
    return std::unexpected(swapped.error());
  }
  const Grouping grouping = group(blocks);
  const Basis basis(blocks, grouping, input.fixed_quads);
  for (Arm arm : {Arm::baseline, Arm::candidate}) {
    if (basis.used(arm).empty()) {
      return fail(ErrorKind::bad_input, fmt::format("no usable capture of the {}", name(arm)), "comparison",
                  grouping.left_out.empty() ? "" : grouping.left_out.front());
    }
  }

  Verdict verdict;
  verdict.claim = input.claim;
  verdict.margin_log = cuts->margin;
  verdict.threshold_log = cuts->threshold;
  verdict.kernel_set = set.kernels;
  verdict.left_out = set.left_out;
  verdict.kernel_set_how = set.how;
  verdict.step = steps.sentence;
  verdict.quads = grouping.quads.size();
  verdict.looked_at = basis.units();
  for (const BlockSummary& block : blocks) {
    ++(block.arm == Arm::baseline ? verdict.baseline_blocks : verdict.candidate_blocks);
  }
  for (Arm arm : {Arm::baseline, Arm::candidate}) {
    for (size_t block : basis.used(arm)) {
      (arm == Arm::baseline ? verdict.captures_baseline : verdict.captures_candidate).push_back(blocks[block].path);
    }
  }

  std::vector<const BlockSummary*> relied_on;
  for (Arm arm : {Arm::baseline, Arm::candidate}) {
    for (size_t block : basis.used(arm)) {
      relied_on.push_back(&blocks[block]);
    }
  }
  for (const Quad& quad : grouping.aa_quads) {
    for (size_t block : {quad.first[0], quad.first[1], quad.second[0], quad.second[1]}) {
      relied_on.push_back(&blocks[block]);
    }
  }
  verdict.refusals = refusals({relied_on, input.claim, input.overhead, input.overhead_budget});
  check_stability(verdict, blocks, grouping);
  check_correctness(verdict, blocks, set, input);
  add_caps(verdict, basis, grouping);
  add_cautions(verdict, blocks, basis, input);
  verdict.claim_source = input.claim_source;
  if (input.claim_source) {
    for (Cause& caution : check_claim(*input.claim_source, relied_on)) {
      verdict.cautions.push_back(std::move(caution));
    }
  }
  if (*swapped) {
    verdict.cautions.push_back({"swapped", "the captures were recorded with the arms the other way round", ""});
  }

  const auto at_set = basis.log_ratio(
      set_time_per_step, [](const BlockSummary& block) -> const std::vector<double>& { return block.slices; });
  give_word(verdict, at_set, basis.log_ratio(metric_as_time), *cuts);
  verdict.likely = !verdict.caps.empty();
  if (!verdict.invalid.empty()) {
    verdict.word = Word::invalid;
  }
  if (!verdict.refusals.empty()) {
    verdict.word = Word::refused;
  }
  if (verdict.word == Word::refused || verdict.word == Word::invalid || verdict.word == Word::inconclusive) {
    verdict.likely = false;
  }

  verdict.ledger = make_ledger(blocks, basis);
  add_levels(verdict, blocks, basis, at_set, input);
  double reference = 0;
  if (const auto& isolated = verdict.levels.front().estimate) {
    reference = std::log(isolated->ratio);
    verdict.where_reference = "isolated";
  } else if (input.claim) {
    reference = std::log(*input.claim);
    verdict.where_reference = "claim";
  }
  if (reference > 0) {
    verdict.where_it_went = factors(basis, reference);
  }
  add_cost(verdict, input);
  add_advice(verdict);
  verdict.headline = headline(verdict);
  return verdict;
}

}  // namespace kvet::verdict
