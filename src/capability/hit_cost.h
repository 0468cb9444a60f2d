// What one hit of a uprobe costs on this machine, by what the probed function begins with. Measured in a child process of
// our own on functions of our own.
#pragma once

#include <optional>
#include <string>

namespace kvet::capability {

struct HitCost {
  // Nanoseconds per call, beyond what the call costs without a probe: the median of several batches. Empty where it could
  // not be measured: `reason` says why.
  std::optional<double> push_ns;  // first instruction emulated
  std::optional<double> endbr64_ns;  // single-stepped
  std::optional<double> other_ns;  // single-stepped
  std::optional<double> return_ns;  // what a return probe adds
  std::string reason;
};

// Takes less than two seconds.
[[nodiscard]] HitCost measure_hit_cost();

}  // namespace kvet::capability
