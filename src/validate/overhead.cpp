#include <cmath>

#include "validate/experiment.h"
#include "verdict/distributions.h"
#include "verdict/statistics.h"

namespace kvet::validate {
namespace {

// As a time: larger is slower. Without a metric a server's fixed load says it by how long it took; a program's own run
// time would count the recorder's start and end.
std::optional<double> figure_of(const BlockResult& result, const Plan& plan) {
  if (result.metric) {
    return plan.metric && plan.metric->higher_is_better ? 1 / *result.metric : *result.metric;
  }
  if (!server_of(plan, result.block.arm)) {
    return std::nullopt;
  }
  return static_cast<double>(result.load_to_ns - result.load_from_ns);
}

}  // namespace

std::vector<verdict::OwnOverhead> own_overhead(const Journal& journal, const Plan& plan) {
  std::vector<verdict::OwnOverhead> result;
  for (verdict::Arm arm : {verdict::Arm::baseline, verdict::Arm::candidate}) {
    std::vector<double> recorded, unrecorded;
    for (const BlockResult& block : journal.blocks) {
      auto figure = figure_of(block, plan);
      if (figure && *figure > 0 && block.block.arm == arm) {
        (block.block.kind == BlockKind::unrecorded ? unrecorded : recorded).push_back(std::log(*figure));
      }
    }
    if (recorded.empty() || unrecorded.empty()) {
      continue;
    }
    verdict::OwnOverhead overhead{arm, std::exp(verdict::mean(recorded) - verdict::mean(unrecorded)), std::nullopt,
                                  unrecorded.size()};
    // One unrecorded block is one draw from the same noise as the recorded ones: prediction interval of a single
    // observation, half width t · s · √(1/n + 1/k).
    if (auto spread = verdict::t_interval(recorded, 0.95)) {
      auto n = static_cast<double>(recorded.size()), k = static_cast<double>(unrecorded.size());
      double half = verdict::t_half_width(0.95, n - 1) * spread->deviation * std::sqrt(1 / n + 1 / k);
      overhead.interval = Interval{overhead.slow_down * std::exp(-half), overhead.slow_down * std::exp(half)};
    }
    result.push_back(overhead);
  }
  return result;
}

}  // namespace kvet::validate
