#include "verdict/basis.h"

#include <algorithm>
#include <cmath>

namespace kvet::verdict {

std::optional<double> set_time_per_step(const BlockSummary& block) { return block.set_time_per_step_ns; }
std::optional<double> solo_time_per_step(const BlockSummary& block) { return block.solo_time_per_step_ns; }
std::optional<double> step_median(const BlockSummary& block) { return block.step_median_ns; }
std::optional<double> metric_as_time(const BlockSummary& block) {
  const auto& metric = block.identity.metric;
  if (!metric || *metric <= 0) {
    return std::nullopt;
  }
  return block.identity.metric_higher_is_better ? 1 / *metric : *metric;
}

Basis::Basis(const std::vector<BlockSummary>& blocks, const Grouping& grouping, uint64_t fixed_quads)
    : blocks_(blocks), quads_(grouping.quads) {
  uint64_t available = quads_.size();
  uint64_t look = fixed_quads > 0 && available >= fixed_quads ? fixed_quads : look_at(available);
  if (look > 0) {
    quads_.resize(look);  // a look uses its own units and no more
  }
  for (const Quad& quad : quads_) {
    used_[0].insert(used_[0].end(), quad.first.begin(), quad.first.end());
    used_[1].insert(used_[1].end(), quad.second.begin(), quad.second.end());
  }
  if (quads_.empty()) {
    used_[0] = grouping.loose_baseline;
    used_[1] = grouping.loose_candidate;
  }
}

const char* Basis::unit_name() const {
  if (in_quads()) {
    return "quads";
  }
  return used_[0].size() > 1 && used_[1].size() > 1 ? "runs per arm" : "slices of one run per arm";
}

std::vector<double> Basis::values(Arm arm, const Figure& figure) const {
  std::vector<double> result;
  for (size_t block : used(arm)) {
    if (auto value = figure(blocks_[block]); value && *value > 0) {
      result.push_back(*value);
    }
  }
  return result;
}

std::optional<LogInterval> Basis::log_ratio(
    const Figure& figure, const std::function<const std::vector<double>&(const BlockSummary&)>& slices) const {
  if (in_quads()) {
    auto units = contrasts(blocks_, quads_, figure);
    if (!units) {
      return std::nullopt;
    }
    if (units->size() >= 2) {
      return t_interval(*units, look_confidence);
    }
    // One quad is two runs per arm: Welch's interval on those.
  }
  std::vector<double> baseline = values(Arm::baseline, figure), candidate = values(Arm::candidate, figure);
  if (baseline.size() != used_[0].size() || candidate.size() != used_[1].size() || baseline.empty() ||
      candidate.empty()) {
    return std::nullopt;
  }
  if (baseline.size() > 1 && candidate.size() > 1) {
    return slice_interval(baseline, candidate, look_confidence);
  }
  auto log_mean = [](const std::vector<double>& list) {
    double sum = 0;
    for (double value : list) {
      sum += std::log(value);
    }
    return sum / static_cast<double>(list.size());
  };
  LogInterval point{log_mean(baseline) - log_mean(candidate), -HUGE_VAL, HUGE_VAL, look_confidence, 1, 0};
  if (slices && baseline.size() == 1 && candidate.size() == 1) {
    const auto& a = slices(blocks_[used_[0].front()]);
    const auto& b = slices(blocks_[used_[1].front()]);
    if (auto interval = slice_interval(a, b, look_confidence)) {
      // The figure of the whole run, with the spread of its slices.
      double half = (interval->high - interval->low) / 2;
      return LogInterval{point.estimate,  point.estimate - half, point.estimate + half,
                         look_confidence, interval->units,       interval->deviation};
    }
  }
  return point;
}

std::optional<double> Basis::mean_of(Arm arm, const Figure& figure) const {
  double sum = 0;
  for (size_t block : used(arm)) {
    auto value = figure(blocks_[block]);
    if (!value) {
      return std::nullopt;
    }
    sum += *value;
  }
  return used(arm).empty() ? std::nullopt : std::optional(sum / static_cast<double>(used(arm).size()));
}

std::optional<Interval> Basis::difference_interval(const Figure& figure, double confidence) const {
  auto units = differences(blocks_, quads_, figure);
  if (!units) {
    return std::nullopt;
  }
  auto interval = t_interval(*units, confidence);
  return interval ? std::optional(Interval{interval->low, interval->high}) : std::nullopt;
}

std::optional<LogInterval> Basis::log_difference(const Figure& figure) const {
  Figure logarithm = [&](const BlockSummary& block) -> std::optional<double> {
    auto value = figure(block);
    return value && *value > 0 ? std::optional(std::log(*value)) : std::nullopt;
  };
  if (in_quads()) {
    auto units = differences(blocks_, quads_, logarithm);
    if (!units) {
      return std::nullopt;
    }
    if (auto interval = t_interval(*units, 0.95)) {
      return interval;
    }
  }
  auto baseline = mean_of(Arm::baseline, logarithm), candidate = mean_of(Arm::candidate, logarithm);
  if (!baseline || !candidate) {
    return std::nullopt;
  }
  return LogInterval{*candidate - *baseline, -HUGE_VAL, HUGE_VAL, 0.95, 1, 0};
}

}  // namespace kvet::verdict
