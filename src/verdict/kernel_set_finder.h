// What is compared: the kernels that only one arm runs, helpers included (design.md, "kernel set").
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "questions/questions.h"
#include "verdict/profile.h"
#include "verdict/verdict.h"

namespace kvet::verdict {

struct ArmProfile {
  Arm arm = Arm::baseline;
  const CaptureProfile* profile = nullptr;
};

struct KernelSetDefinition {
  std::set<KernelKey> keys;  // code_hash 0: every code of that name
  std::vector<KernelInSet> kernels;  // the longest-running first
  std::vector<KernelLeftOut> left_out;
  std::string how;
  // One arm has kernels of its own, the candidate none: it runs nothing in their place. `ran_outside` names kernels
  // of the candidate's own that ran only before or after the window.
  bool candidate_runs_nothing = false;
  std::vector<std::string> ran_outside;

  [[nodiscard]] questions::KernelSet in(const Capture& capture) const;
};

// By what only one arm runs. Errors are bad_input and say what did run: no kernel at all; both arms ran the same; the
// baseline has no kernel of its own.
Result<KernelSetDefinition> find_kernel_set(const std::vector<ArmProfile>& captures);

// By names that the user's patterns matched (in any capture). An arm that never ran one of them is bad_input.
Result<KernelSetDefinition> kernel_set_of_names(const std::vector<ArmProfile>& captures,
                                                const std::set<std::string>& names);

}  // namespace kvet::verdict
