// Estimates with 95% intervals, for the questions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/finding.h"

namespace kvet::questions {

// One independent piece of evidence for a ratio of sums: most often one execution and the samples that it covers.
struct Cluster {
  double numerator = 0, denominator = 0;
};

struct Estimate {
  double value = 0;
  std::optional<Interval> interval;  // empty below two clusters
  uint64_t clusters = 0;
  double standard_error = 0;
};

// Σ numerator ÷ Σ denominator, never a mean of ratios. Interval by cluster linearisation: with residuals
// e_i = n_i − R·d_i, variance m ÷ (m − 1) · Σ e_i² ÷ (Σ d)², and Student's t with m − 1 degrees of freedom (Cochran,
// Sampling Techniques, 3rd edition, 6.4 and 9A). Empty where the denominators add up to nothing.
std::optional<Estimate> ratio_of_sums(const std::vector<Cluster>& clusters);

// 97.5% quantile of Student's t: what a two-sided 95% interval needs.
double t_quantile_975(double degrees_of_freedom);

// The p-quantile, 0 ≤ p ≤ 1, linear between order statistics. `values` must not be empty; it is reordered.
double quantile(std::vector<double>& values, double p);

}  // namespace kvet::questions
