// A whole comparison: captures in, verdict out.
#pragma once

#include "verdict/decide.h"
#include "verdict/frame.h"

namespace kvet::verdict {

struct ComparisonOptions {
  DecisionInput decision;  // its claim, where empty, is taken from the captures (experiment.claim)
  FrameOptions frame;
};

// The verdict, with the four questions answered for the middle block of each arm (by level 3).
Result<Verdict> compare(const std::vector<Input>& inputs, const ComparisonOptions& options, const Loader& load);

}  // namespace kvet::verdict
