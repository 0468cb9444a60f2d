// Reasons why a measurement cannot carry a word (questions.md, "Refusals").
#pragma once

#include "verdict/block_summary.h"
#include "verdict/verdict.h"

namespace kvet::verdict {

// kvet's own cost in one arm: the workload's figure recorded ÷ not recorded, as times (above 1: slower when recorded).
struct OwnOverhead {
  Arm arm = Arm::baseline;
  double slow_down = 1;
  std::optional<Interval> interval;  // 95%; empty: too few blocks
  uint64_t unrecorded_blocks = 0;
};

struct RefusalInput {
  std::vector<const BlockSummary*> blocks;  // those that the word rests on, A/A included
  std::optional<double> claim;
  const std::vector<OwnOverhead>& overhead;
  double overhead_budget;
};

// Codes: incomplete, no_executions, lost_records, counts_disagree, different_gpu, different_driver, different_power_limit,
// different_tier, clock_residual, blocks_disagree, overhead. In that order; each code once, with how many blocks it concerns.
std::vector<Cause> refusals(const RefusalInput& input);

}  // namespace kvet::verdict
