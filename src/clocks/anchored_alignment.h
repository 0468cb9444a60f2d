// Brings together what executions say about the counters' clock and what pulses say: holds the one against the other, and
// makes do with either where the other is missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "clocks/counter_alignment.h"
#include "model/events.h"

namespace kvet::clocks {

struct AnchoredAlignment {
  std::vector<ClockMapping> mappings;
  std::string said;  // for people: how it was found, and how well
};

// `anchors`: mappings of one moment each (from_ns) with their residuals, from pulses; may be empty. `first_raw_ns`,
// `last_raw_ns`: what the samples cover. Errors are unavailable.
[[nodiscard]] Result<AnchoredAlignment> align_with_anchors(const CounterAlignment& alignment,
                                                           std::vector<ClockMapping> anchors, int64_t first_raw_ns,
                                                           int64_t last_raw_ns);

}  // namespace kvet::clocks
