// A whole comparison: captures in, verdict out.
#pragma once

#include "model/isolated_counters.h"
#include "verdict/decide.h"
#include "verdict/frame.h"

namespace kvet::verdict {

struct ComparisonOptions {
  // Where its claim and its isolated runs are empty they are taken from the captures (experiment.claim, .isolated).
  DecisionInput decision;
  FrameOptions frame;
  // Capture of the candidate's microbenchmark, run alone: adds dram.locality to the candidate's findings. Empty: none.
  std::string isolated;
  // Or its counters, as another tool read them: adds the findings of questions::against_profile. Empty: none.
  std::optional<IsolatedProfile> isolated_profile;
};

// The verdict, with the four questions answered for the middle block of each arm (by level 3).
Result<Verdict> compare(const std::vector<Input>& inputs, const ComparisonOptions& options, const Loader& load);

}  // namespace kvet::verdict
