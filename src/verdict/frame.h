// What the captures of a comparison have in common. Captures are loaded one at a time through the caller's function,
// since sixteen quads of them do not fit into memory together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "verdict/block_summary.h"

namespace kvet::verdict {

struct Input {
  std::string path;
  Arm arm = Arm::baseline;
};
using Loader = std::function<Result<Capture>(const Input&)>;

struct FrameOptions {
  std::vector<std::string> kernels;  // patterns; empty: what only one arm runs
  std::optional<std::string> step;   // pattern for NVTX ranges; empty: the captures' own (experiment.step)
};

// Found in a first pass; enough to summarise further captures of the same experiment.
struct Frame {
  KernelSetDefinition set;
  StepDefinition steps;
};
Result<Frame> find_frame(const std::vector<Input>& inputs, const FrameOptions& options, const Loader& load);

// Every capture as numbers, in order of the inputs.
Result<std::vector<BlockSummary>> summarise_all(const std::vector<Input>& inputs, const Frame& frame,
                                                const Loader& load);

}  // namespace kvet::verdict
