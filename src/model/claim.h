// What somebody stated about a candidate, as read from a benchmark's result file. Texts are raw: renderers escape.
#pragma once

#include <optional>
#include <string>

namespace kvet {

struct Claim {
  double ratio = 1;  // baseline time ÷ candidate time, finite and above 0
  std::optional<double> baseline_ns, candidate_ns;  // of one call, where the file gives them
  std::string device;  // the GPU's name as the file writes it; "": the file does not say
  std::string format;  // "KernelBench", "FlashInfer trace", …
  std::string file, id;
  std::string where;  // in the file: "line 3", "benchmarks[0].states[2]"
  bool known_correct = true;  // false: the file leaves open whether the measured kernel computes the right thing
};

}  // namespace kvet
