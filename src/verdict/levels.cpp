#include "verdict/levels.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "verdict/where_it_went.h"

namespace kvet::verdict {

Estimate estimate_of(const LogInterval& interval, const std::string& unit_name) {
  Estimate estimate;
  estimate.ratio = std::exp(interval.estimate);
  if (std::isfinite(interval.low) && std::isfinite(interval.high)) {
    estimate.interval = Interval{std::exp(interval.low), std::exp(interval.high)};
    estimate.confidence = interval.confidence;
  }
  estimate.units = interval.units;
  estimate.unit_name = unit_name;
  return estimate;
}

namespace {

Level make_level(int number, const std::string& id, const std::string& what, const Basis& basis,
                 const std::optional<LogInterval>& ratio, const Figure& figure, const std::string& unit,
                 const std::string& reason, const std::string& advice) {
  Level level;
  level.number = number;
  level.id = id;
  level.what = what;
  level.unit = unit;
  if (ratio) {
    level.estimate = estimate_of(*ratio, basis.unit_name());
    level.baseline = basis.mean_of(Arm::baseline, figure);
    level.candidate = basis.mean_of(Arm::candidate, figure);
  } else {
    level.reason = reason;
    level.advice = advice;
  }
  return level;
}

Level isolated_level(const DecisionInput& input) {
  Level level;
  level.number = 1;
  level.id = "isolated";
  level.what = "isolated: the microbenchmark, repeated here";
  if (input.isolated.empty()) {
    level.reason = input.isolated_reason;
    level.advice = "add [isolated] to the plan: a command per arm that prints its time";
  } else if (auto interval = t_interval(input.isolated, look_confidence)) {
    level.estimate = estimate_of(*interval, "pairs of runs");
  } else {
    level.estimate = estimate_of({input.isolated.front(), -HUGE_VAL, HUGE_VAL, 0, 1, 0}, "pairs of runs");
  }
  return level;
}

std::optional<double> raw_metric(const BlockSummary& block) { return block.identity.metric; }

std::string block_without_set_time(const std::vector<BlockSummary>& blocks, const Basis& basis) {
  for (Arm arm : {Arm::baseline, Arm::candidate}) {
    for (size_t block : basis.used(arm)) {
      if (!blocks[block].set_time_per_step_ns) {
        return fmt::format("{}: {} steps, {} executions of the set", blocks[block].path, blocks[block].steps,
                           blocks[block].set_executions);
      }
    }
  }
  return "no block";
}

}  // namespace

void add_levels(Verdict& verdict, const std::vector<BlockSummary>& blocks, const Basis& basis,
                const std::optional<LogInterval>& at_set, const DecisionInput& input) {
  verdict.levels.push_back(isolated_level(input));
  verdict.levels.push_back(
      make_level(2, "alone", "in the workload, alone: no sibling beside it", basis, basis.log_ratio(solo_time_per_step),
                 solo_time_per_step, "ns per step",
                 fmt::format("fewer than {:.0f}% of the set's executions have a shape that ever ran alone",
                             100 * least_solo_coverage),
                 ""));
  verdict.levels.push_back(make_level(3, "set", "in the workload, all: the whole kernel set", basis, at_set,
                                      set_time_per_step, "ns per step", block_without_set_time(blocks, basis),
                                      "name the step in the plan: step = 'REGEX'"));
  verdict.levels.push_back(make_level(4, "step", "the step, median", basis, basis.log_ratio(step_median), step_median,
                                      "ns", "nothing marks the steps of the workload", "mark them with NVTX ranges"));
  verdict.levels.push_back(make_level(
      5, "end_to_end", "end to end: what the workload prints", basis, basis.log_ratio(metric_as_time), raw_metric,
      "as printed", "the captures hold no figure of the workload's own", "add [workload] metric to the plan"));
  // For rates a larger figure is the better one; the ratio is of times all the same.
  for (size_t i = 0; i < 3; ++i) {
    if (input.claim) {
      verdict.levels[i].held_against = input.claim;
      verdict.levels[i].held_against_name = "claim";
    }
  }
  auto share = set_share_of_step(blocks, basis);
  if (share && at_set) {
    double ceiling = 1 / (1 - *share + *share * std::exp(-at_set->estimate));
    for (size_t i = 3; i < 5; ++i) {
      verdict.levels[i].held_against = ceiling;
      verdict.levels[i].held_against_name = "ceiling";
    }
  }
  const auto& isolated = verdict.levels[0].estimate;
  if (!isolated) {
    verdict.kept_reason = "level 1 was not measured";
    return;
  }
  double isolated_log = std::log(isolated->ratio);
  if (input.claim) {
    verdict.reproduced = isolated_log / std::log(*input.claim);
  }
  if ((isolated->interval ? isolated->interval->low : isolated->ratio) <= margin_ratio) {
    verdict.kept_reason = fmt::format("level 1 is not clearly above {}", margin_ratio);
  } else if (at_set) {
    verdict.kept = at_set->estimate / isolated_log;
  } else {
    verdict.kept_reason = "level 3 was not measured";
  }
}

void add_cost(Verdict& verdict, const DecisionInput& input) {
  for (Arm arm : {Arm::baseline, Arm::candidate}) {
    Finding finding;
    finding.id = "verdict.own_overhead";
    finding.question = Question::verdict;
    finding.subject = name(arm);
    finding.unit = "%";
    auto found = std::find_if(input.overhead.begin(), input.overhead.end(),
                              [&](const OwnOverhead& overhead) { return overhead.arm == arm; });
    if (found == input.overhead.end()) {
      finding.reason = input.overhead_reason;
      finding.advice = "`kvet validate` with a metric measures it";
      finding.sentence = fmt::format("what recording cost the {} is not known", name(arm));
    } else {
      finding.value = 100 * (found->slow_down - 1);
      if (found->interval) {
        finding.interval = Interval{100 * (found->interval->low - 1), 100 * (found->interval->high - 1)};
      }
      finding.observations = found->unrecorded_blocks;
      finding.evidence = Evidence::measured;
      finding.sentence = fmt::format("recording slowed the {} by {:.1f}%", name(arm), *finding.value);
      if (finding.interval) {
        finding.sentence += fmt::format(" ({:.1f} to {:.1f})", finding.interval->low, finding.interval->high);
      }
    }
    verdict.cost.push_back(std::move(finding));
  }
}

void add_advice(Verdict& verdict) {
  auto add = [&](const std::string& line) {
    if (!line.empty() && std::find(verdict.advice.begin(), verdict.advice.end(), line) == verdict.advice.end()) {
      verdict.advice.push_back(line);
    }
  };
  for (const auto* causes : {&verdict.refusals, &verdict.invalid, &verdict.caps}) {
    for (const Cause& cause : *causes) {
      add(cause.fix);
    }
  }
  if (verdict.word == Word::inconclusive) {
    add(verdict.more_units
            ? fmt::format("about {} more quads would decide, if the noise stays as it is", *verdict.more_units)
            : verdict.more_units_reason);
  }
  const Factor* largest = nullptr;
  for (const Factor& factor : verdict.where_it_went) {
    // Below 5% of the reference's gain a factor is not worth acting on.
    if (factor.percent && *factor.percent > 5 && (largest == nullptr || *factor.percent > *largest->percent)) {
      largest = &factor;
    }
  }
  if (largest != nullptr && largest->id == "co_residency") {
    add("the candidate loses beside its siblings: try fewer registers, less shared memory or smaller blocks");
  } else if (largest != nullptr && largest->id == "clock") {
    add("the candidate ran at a lower clock: compare at a fixed one (nvidia-smi -lgc)");
  } else if (largest != nullptr && largest->id == "unexplained") {
    add("see what the workload's shapes and caches do to it: kvet report --kernel on a candidate capture");
  }
  if (verdict.check == "unchecked") {
    add("add a check to the plan: nothing says that the candidate's results are right");
  }
  for (const Cause& cause : verdict.cautions) {
    add(cause.fix);
  }
}

}  // namespace kvet::verdict
