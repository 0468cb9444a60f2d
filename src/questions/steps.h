// The workload's own unit of repetition, found in a single capture: by NVTX ranges where there are any, else by graph launches, by
// collectives, or by the period of the sequence of kernels. How they were found is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/capture.h"
#include "questions/spans.h"

namespace kvet::questions {

struct Steps {
  enum class By : uint8_t { none, ranges, graph_launches, collectives, kernels } by = By::none;
  std::string how;  // "NVTX range \"step #\"", "every 4th graph launch"; by none: why
  bool host_time = false;  // the spans are times of launch calls, else times on the device
  std::map<uint32_t, std::vector<Span>> spans;  // of each process, by start, disjoint

  [[nodiscard]] size_t count() const;  // of the process that has the most
  // Which step of its process a launch (in host time) or an execution (in device time) belongs to. Empty: to none.
  [[nodiscard]] std::optional<size_t> at(ProcessId process, int64_t time) const;
};

// `pattern`: ECMAScript, searched in the names of NVTX ranges; "" : found by itself. No match of a pattern is By::none.
[[nodiscard]] Steps find_steps(const Capture& capture, const std::string& pattern);

// The smallest period at which a sequence repeats: at least four times over, at least 95% of it alike. Empty: there is none.
[[nodiscard]] std::optional<size_t> period_of(const std::vector<uint32_t>& sequence);

}  // namespace kvet::questions
