#include "questions/batched_ratio.h"

#include <algorithm>
#include <cmath>

namespace kvet::questions {
namespace {

constexpr size_t most_batches = 64;
constexpr size_t least_to_halve = 32;

std::vector<Cluster> batches_of(const std::vector<Cluster>& in_order, double total, size_t count) {
  std::vector<Cluster> batches;
  double before = 0;
  size_t current = count;
  for (const Cluster& each : in_order) {
    // By the middle of the observation: one that is longer than a batch is a batch of its own.
    const auto index = static_cast<size_t>((before + each.denominator / 2) / total * static_cast<double>(count));
    before += each.denominator;
    if (batches.empty() || index != current) {
      batches.push_back({});
      current = index;
    }
    batches.back().numerator += each.numerator;
    batches.back().denominator += each.denominator;
  }
  return batches;
}

double neighbours_correlation(const std::vector<Cluster>& batches, double ratio) {
  double products = 0, squares = 0, last = 0;
  for (const Cluster& each : batches) {
    const double residual = each.numerator - ratio * each.denominator;
    products += residual * last;
    squares += residual * residual;
    last = residual;
  }
  return squares > 0 ? products / squares : 0;
}

}  // namespace

std::optional<Estimate> batched_ratio(const std::vector<Cluster>& in_order) {
  double total = 0, numerator = 0;
  for (const Cluster& each : in_order) {
    total += each.denominator;
    numerator += each.numerator;
  }
  if (!(total > 0)) {
    return std::nullopt;
  }
  size_t count = std::min(most_batches, in_order.size());
  std::vector<Cluster> batches = batches_of(in_order, total, count);
  double correlation = neighbours_correlation(batches, numerator / total);
  while (batches.size() >= least_to_halve && correlation > 1 / std::sqrt(static_cast<double>(batches.size()))) {
    count /= 2;
    batches = batches_of(in_order, total, count);
    correlation = neighbours_correlation(batches, numerator / total);
  }
  auto estimate = ratio_of_sums(batches);
  if (estimate && estimate->interval && correlation > 0) {
    const double wider = std::sqrt((1 + correlation) / (1 - std::min(correlation, 0.9)));
    estimate->standard_error *= wider;
    const double half = (estimate->interval->high - estimate->value) * wider;
    estimate->interval = Interval{estimate->value - half, estimate->value + half};
  }
  return estimate;
}

}  // namespace kvet::questions
