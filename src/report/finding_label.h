// How a finding is called in text, from its id.
#pragma once

#include <string>
#include <string_view>

#include "model/finding.h"

namespace kvet::report {

// "dispatch.lead.p90" gives "dispatch.lead" and "p90"; the statistic is "" for an id that ends otherwise.
struct Stem {
  std::string_view name, statistic;
};
[[nodiscard]] Stem stem_of(std::string_view id);

inline constexpr std::string_view statistics[] = {"p50", "p90", "p99", "max"};

// The id in words, without its question and statistic: "dispatch.eager.launch_cost.off_cpu.p50" gives "eager launch cost
// off CPU". A part of a sum (".by.") is called by the part alone, indented: "  by waiting for GPU". Safe for a terminal.
[[nodiscard]] std::string label_of(const Finding& finding);

}  // namespace kvet::report
