#include "verdict/where_it_went.h"

#include <algorithm>
#include <cmath>

namespace kvet::verdict {
namespace {

constexpr size_t kernels_shown = 6;  // a verdict fits one screen
constexpr double exploratory_confidence = 0.95;

using LedgerOf = const std::optional<BlockLedger>& (*)(const BlockSummary&);
const std::optional<BlockLedger>& of_steps(const BlockSummary& block) { return block.step_ledger; }
const std::optional<BlockLedger>& of_window(const BlockSummary& block) { return block.window_ledger; }

bool all_have(const std::vector<BlockSummary>& blocks, const Basis& basis, LedgerOf ledger) {
  for (Arm arm : {Arm::baseline, Arm::candidate}) {
    for (size_t block : basis.used(arm)) {
      if (!ledger(blocks[block])) {
        return false;
      }
    }
  }
  return !basis.used(Arm::baseline).empty() && !basis.used(Arm::candidate).empty();
}

// The partition that all blocks have.
LedgerOf common_ledger(const std::vector<BlockSummary>& blocks, const Basis& basis) {
  if (all_have(blocks, basis, of_steps)) {
    return of_steps;
  }
  return all_have(blocks, basis, of_window) ? of_window : nullptr;
}

double kernel_time(const BlockLedger& ledger, const std::string& kernel) {
  auto found = ledger.kernels.find(kernel);
  return found == ledger.kernels.end() ? 0 : found->second;
}

}  // namespace

Ledger make_ledger(const std::vector<BlockSummary>& blocks, const Basis& basis) {
  Ledger ledger;
  LedgerOf part = common_ledger(blocks, basis);
  if (part == nullptr) {
    ledger.reason = "no step was found in some block";
    return ledger;
  }
  ledger.wall = part == of_steps ? "the steps' own time" : "the window, divided by its steps";
  auto mean = [&](Arm arm, auto value) {
    return basis.mean_of(arm, [&](const BlockSummary& block) { return std::optional<double>(value(*part(block))); })
        .value_or(0);
  };
  double sum = 0;
  auto add_row = [&](const std::string& id, const std::string& kernel, auto value) {
    LedgerRow row{id, kernel, mean(Arm::baseline, value), mean(Arm::candidate, value), 0, std::nullopt};
    row.difference_ns = row.candidate_ns - row.baseline_ns;
    row.difference_interval = basis.difference_interval(
        [&](const BlockSummary& block) { return std::optional<double>(value(*part(block))); }, exploratory_confidence);
    sum += row.difference_ns;
    ledger.rows.push_back(row);
  };
  add_row("set_alone", "", [](const BlockLedger& block) { return block.set_alone; });
  add_row("set_beside_siblings", "", [](const BlockLedger& block) { return block.set_beside; });

  std::map<std::string, double> sizes;
  for (Arm arm : {Arm::baseline, Arm::candidate}) {
    for (size_t block : basis.used(arm)) {
      for (const auto& [kernel, time] : part(blocks[block])->kernels) {
        sizes[kernel] += time;
      }
    }
  }
  std::vector<std::pair<double, std::string>> order;
  order.reserve(sizes.size());
  for (const auto& [kernel, size] : sizes) {
    order.emplace_back(size, kernel);
  }
  std::sort(order.rbegin(), order.rend());
  for (size_t i = 0; i < std::min(order.size(), kernels_shown); ++i) {
    const std::string& kernel = order[i].second;
    add_row("kernel", kernel, [&](const BlockLedger& block) { return kernel_time(block, kernel); });
  }
  if (order.size() > kernels_shown) {
    add_row("other_kernels", "", [&](const BlockLedger& block) {
      double rest = 0;
      for (size_t i = kernels_shown; i < order.size(); ++i) {
        rest += kernel_time(block, order[i].second);
      }
      return rest;
    });
  }
  add_row("copies", "", [](const BlockLedger& block) { return block.copies; });
  add_row("collectives", "", [](const BlockLedger& block) { return block.collectives; });
  add_row("idle", "", [](const BlockLedger& block) { return block.idle; });

  ledger.baseline_wall_ns = mean(Arm::baseline, [](const BlockLedger& block) { return block.wall; });
  ledger.candidate_wall_ns = mean(Arm::candidate, [](const BlockLedger& block) { return block.wall; });
  double difference = ledger.candidate_wall_ns - ledger.baseline_wall_ns;
  ledger.residual_ns = std::abs(sum - difference);
  // questions.md: within max(2% of the difference, 0.2% of the step).
  ledger.tolerance_ns = std::max(0.02 * std::abs(difference), 0.002 * ledger.baseline_wall_ns);
  ledger.adds_up = ledger.residual_ns <= ledger.tolerance_ns;
  return ledger;
}

std::optional<double> set_share_of_step(const std::vector<BlockSummary>& blocks, const Basis& basis) {
  LedgerOf part = common_ledger(blocks, basis);
  if (part == nullptr) {
    return std::nullopt;
  }
  auto set = basis.mean_of(Arm::baseline, [&](const BlockSummary& block) {
    return std::optional<double>(part(block)->set_alone + part(block)->set_beside);
  });
  auto wall =
      basis.mean_of(Arm::baseline, [&](const BlockSummary& block) { return std::optional<double>(part(block)->wall); });
  if (!set || !wall || *wall <= 0) {
    return std::nullopt;
  }
  return std::clamp(*set / *wall, 0.0, 1.0);
}

namespace {

// How much longer the set's time is than its executions alone would have needed.
std::optional<double> crowding(const BlockSummary& block) {
  if (!block.set_time_per_step_ns || !block.solo_time_per_step_ns) {
    return std::nullopt;
  }
  return *block.set_time_per_step_ns / *block.solo_time_per_step_ns;
}

std::optional<double> cycle_length(const BlockSummary& block) {
  return block.sm_clock_hz && *block.sm_clock_hz > 0 ? std::optional(1 / *block.sm_clock_hz) : std::nullopt;
}

std::optional<double> gap_before_set(const BlockSummary& block) {
  const auto& ledger = block.step_ledger ? block.step_ledger : block.window_ledger;
  return ledger ? std::optional(ledger->idle_before_set) : std::nullopt;
}

Factor factor_from(const std::string& id, const std::optional<LogInterval>& lost, const std::string& reason) {
  Factor factor{id, std::nullopt, std::nullopt, std::nullopt, std::nullopt, reason};
  if (lost) {
    factor.reason.clear();
    factor.lost_log = lost->estimate;
    if (std::isfinite(lost->low)) {
      factor.interval = Interval{lost->low, lost->high};
    }
  }
  return factor;
}

}  // namespace

std::vector<Factor> factors(const Basis& basis, double reference_log) {
  std::vector<Factor> result;
  auto baseline = basis.mean_of(Arm::baseline, set_time_per_step);
  auto measured = basis.log_ratio(set_time_per_step);
  if (!baseline || !measured || reference_log == 0) {
    return result;
  }
  result.push_back(factor_from("clock", basis.log_difference(cycle_length), "no clock readings in some block"));
  result.push_back(factor_from("co_residency", basis.log_difference(crowding),
                               "too few executions of the set ran alone in some block"));
  result.push_back(
      factor_from("shape_mix", std::nullopt, "the isolated runs are not recorded, so their shapes are not known"));
  double explained = 0;
  for (const Factor& factor : result) {
    explained += factor.lost_log.value_or(0);
  }
  Factor rest = factor_from("unexplained", std::nullopt, "");
  rest.lost_log = reference_log - measured->estimate - explained;
  result.push_back(rest);

  // A loss of l in the logarithm between two times is l × their logarithmic mean in time: parts then add up exactly,
  // in whatever order the factors are taken (Ang, Energy Policy 32, 2004: LMDI).
  double lost = reference_log - measured->estimate;
  double expected = *baseline * std::exp(-reference_log), reached = *baseline * std::exp(-measured->estimate);
  double logarithmic_mean = std::abs(lost) < 1e-9 ? reached : (reached - expected) / lost;
  for (Factor& factor : result) {
    if (factor.lost_log) {
      factor.lost_ns = *factor.lost_log * logarithmic_mean;
      factor.percent = 100 * *factor.lost_log / reference_log;
    }
  }
  // Gaps in front of the set's executions are not part of the set's time: they lie between level 3 and level 4.
  Factor gaps{"launch_gaps", std::nullopt, std::nullopt, std::nullopt, std::nullopt, ""};
  auto before = basis.mean_of(Arm::baseline, gap_before_set), after = basis.mean_of(Arm::candidate, gap_before_set);
  if (before && after) {
    gaps.lost_ns = *after - *before;
  } else {
    gaps.reason = "no step was found in some block";
  }
  result.push_back(gaps);
  return result;
}

}  // namespace kvet::verdict
