// A step is one repetition of the workload's own unit. All captures of a comparison use one definition.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "verdict/kernel_set_finder.h"
#include "verdict/launches.h"

namespace kvet::verdict {

enum class StepKind : uint8_t {
  range,          // an NVTX range
  graph_launch,   // one replay of a graph that contains kernels of the set
  shared_kernel,  // one execution of a kernel that both arms run on the streams of the set
  set_kernel,     // one execution of the set's longest-running kernel, of each arm
};

struct StepDefinition {
  StepKind kind = StepKind::set_kernel;
  std::vector<std::string> names;  // range: collapsed names; shared_kernel: one; set_kernel: baseline's, candidate's
  std::string sentence;
  [[nodiscard]] bool has_duration() const { return kind == StepKind::range || kind == StepKind::graph_launch; }
};

// The NVTX range whose name repeats most among those in which every capture launches kernels of the set (`pattern`, an
// ECMAScript expression, chooses by name instead); else graph launches, where they carry most of the set's time; else
// executions of a shared kernel; else of the set itself. A pattern that matches no range of some capture is bad_input.
Result<StepDefinition> choose_steps(const std::vector<ArmProfile>& captures, const KernelSetDefinition& set,
                                    const std::optional<std::string>& pattern);

struct Step {
  uint32_t process = 0;
  int64_t start = 0, end = 0;  // end: of the last execution launched in it, or of the range, whichever is later
};
// The steps that begin in the window, in order of their start.
std::vector<Step> find_steps(const Capture& capture, Arm arm, const StepDefinition& definition,
                             const questions::KernelSet& set, const Window& window, const LaunchIndex& launches);

}  // namespace kvet::verdict
