// Findings that say how a quantity is distributed: p50, p90, p99 and max, never a mean alone.
#pragma once

#include <string>
#include <vector>

#include "model/finding.h"

namespace kvet::questions {

// What the four findings share. `id` gets ".p50", ".p90", ".p99" and ".max" behind it.
struct DistributionOf {
  Question question = Question::dispatch;
  std::string id, subject, beside;
  std::string what;  // the sentence: "Time inside the launch call"
  std::string unit = "ns";
  Evidence evidence = Evidence::measured;
  double half_width = 0;  // uncertainty of every single value (clock residual); 0: no interval
  double least = 0;       // the interval does not go below; for signed quantities −infinity
};

// Appends four findings; `values` are all observations (a complete count, not a sample) and must not be empty. They are
// reordered. Percentiles are linear between order statistics, as quantile() in statistics.h.
void append_distribution(std::vector<Finding>& findings, const DistributionOf& of, std::vector<double>& values);

}  // namespace kvet::questions
