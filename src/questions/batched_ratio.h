// A ratio of sums over a time series, whose neighbours are alike.
#pragma once

#include <vector>

#include "questions/statistics.h"

namespace kvet::questions {

// Σ numerator ÷ Σ denominator of observations in order of time, with its 95% interval by batch means: neighbouring samples show
// the same blocks, so they are put together into batches of equal denominators, at most 64, and pairs of batches into one for as long
// as neighbours are still visibly correlated and 16 are left. What correlation of neighbours then remains widens the interval by
// (1 + r) ÷ (1 − r) (Law and Kelton, Simulation Modeling and Analysis, chapter 9: batch means of a correlated process). Then
// as ratio_of_sums() has it, with the batches for clusters.
std::optional<Estimate> batched_ratio(const std::vector<Cluster>& in_order);

}  // namespace kvet::questions
