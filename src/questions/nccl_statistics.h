// Tests and intervals that the NCCL question needs beyond statistics.h.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "model/finding.h"

namespace kvet::questions {

// P(T > t) of Student's t.
[[nodiscard]] double t_upper_tail(double t, double degrees_of_freedom);

// What is left of a series when its own slow course is taken away: each value less the median of the middles of pairs around it, the
// n-th before and the n-th after, in a window of so many values (odd; narrower towards the ends). A straight line leaves nothing, and a
// single outlier does not move its neighbours. The first and the last few have too few around them, and are left out.
inline constexpr size_t trend_edge = 3;
[[nodiscard]] std::vector<double> without_trend(const std::vector<double>& values, size_t window);

struct RankCorrelation {
  double value = 0;
  Interval interval;  // 95%
};
// Spearman's, ties by their middle rank. Interval by Fisher's z with the variance (1 + r²/2) ÷ (n − 3) (Bonett and Wright,
// Psychometrika 65, 2000). Empty below eight pairs, or where either does not vary.
[[nodiscard]] std::optional<RankCorrelation> rank_correlation(const std::vector<double>& a,
                                                              const std::vector<double>& b);

}  // namespace kvet::questions
