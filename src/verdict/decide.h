// From blocks to a verdict. Pure: planted blocks give planted words.
#pragma once

#include "base/result.h"
#include "model/claim.h"
#include "verdict/refusals.h"
#include "verdict/verdict.h"
#include "verdict/words.h"

namespace kvet::verdict {

struct DecisionInput {
  std::optional<double> claim;
  std::optional<Claim> claim_source;  // where the claim comes from a file
  // Level 1: one log ratio per pair of isolated runs (baseline then candidate); empty with a reason.
  std::vector<double> isolated;
  std::string isolated_reason = "the plan has no [isolated] part";
  std::vector<OwnOverhead> overhead;
  std::string overhead_reason = "no unrecorded block was run beside the recorded ones";
  double overhead_budget = 0.05;
  uint64_t fixed_quads = 0;  // 0: looks at 4, 8 and 16
  std::optional<std::string> failed_check;  // the sentence of a `check` command that failed
};

// The running figure that validate shows while blocks come in.
std::optional<LogInterval> running_ratio(const std::vector<BlockSummary>& blocks);

// Errors are usage: a claim that cannot be vetted. bad_input: no block of one arm; captures whose arms contradict each
// other. The questions' findings and the commands to look further are filled in by the caller.
Result<Verdict> decide(const std::vector<BlockSummary>& blocks, const KernelSetDefinition& set,
                       const StepDefinition& steps, const DecisionInput& input);

// When a check failed before anything was measured.
Verdict invalid_verdict(std::optional<double> claim, const std::string& failed_check);

}  // namespace kvet::verdict
