// Do the records of a capture agree with each other, and with counts that came another way? A missing record would
// make an arm look faster than it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/capture.h"
#include "verdict/launches.h"

namespace kvet::verdict {

struct CountsCheck {
  uint64_t launches = 0;          // kernel launch records in the window that succeeded and were not captured
  uint64_t graph_launches = 0;    // graph launch records in the window
  uint64_t executions = 0;        // in the window
  uint64_t missing_executions = 0;
  uint64_t surplus_executions = 0;     // a launch with more executions than it can have
  uint64_t unlaunched_executions = 0;  // without a launch record
  std::vector<std::string> disagreements;  // each one a reason to refuse
  std::vector<std::string> notes;
};

// Each eager launch record has exactly one execution; each replay of a graph has, of each node, as many executions as
// the other replays of that graph; launch records are held against the count of the uprobes (meta check.*).
CountsCheck check_counts(const Capture& capture, const Window& window);

}  // namespace kvet::verdict
