#include "verdict/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "verdict/distributions.h"

namespace kvet::verdict {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

namespace {

double variance(std::span<const double> values) {
  double middle = mean(values), sum = 0;
  for (double value : values) {
    sum += (value - middle) * (value - middle);
  }
  return sum / static_cast<double>(values.size() - 1);
}

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> result;
  for (double value : values) {
    if (value > 0) {
      result.push_back(std::log(value));
    }
  }
  return result;
}

}  // namespace

std::optional<LogInterval> t_interval(std::span<const double> units, double confidence) {
  if (units.size() < 2) {
    return std::nullopt;
  }
  auto count = static_cast<double>(units.size());
  double middle = mean(units), deviation = std::sqrt(variance(units));
  double half = t_half_width(confidence, count - 1) * deviation / std::sqrt(count);
  return LogInterval{middle, middle - half, middle + half, confidence, units.size(), deviation};
}

double contrast(const std::array<double, 2>& baseline, const std::array<double, 2>& candidate) {
  return (std::log(baseline[0]) + std::log(baseline[1])) / 2 - (std::log(candidate[0]) + std::log(candidate[1])) / 2;
}

std::optional<LogInterval> slice_interval(std::span<const double> baseline, std::span<const double> candidate,
                                          double confidence) {
  std::vector<double> a = logarithms(baseline), b = logarithms(candidate);
  if (a.size() < 2 || b.size() < 2) {
    return std::nullopt;
  }
  double a_error = variance(a) / static_cast<double>(a.size()), b_error = variance(b) / static_cast<double>(b.size());
  double error = a_error + b_error;
  double middle = mean(a) - mean(b);
  if (error == 0) {
    return LogInterval{middle, middle, middle, confidence, a.size(), 0};
  }
  // Welch–Satterthwaite degrees of freedom.
  double freedom =
      error * error /
      (a_error * a_error / static_cast<double>(a.size() - 1) + b_error * b_error / static_cast<double>(b.size() - 1));
  double half = t_half_width(confidence, freedom) * std::sqrt(error);
  return LogInterval{middle,     middle - half, middle + half,
                     confidence, a.size(),      std::sqrt(error * static_cast<double>(a.size()))};
}

uint64_t look_at(uint64_t units) {
  uint64_t reached = 0;
  for (uint64_t look : looks) {
    if (units >= look) {
      reached = look;
    }
  }
  return reached;
}

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace kvet::verdict
