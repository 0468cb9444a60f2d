#include "questions/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvet::questions {

double t_quantile_975(double degrees_of_freedom) {
  if (degrees_of_freedom < 1) {
    return std::numeric_limits<double>::infinity();
  }
  // Exact closed forms for 1 and 2; beyond, bisection on the distribution function, which Simpson's rule integrates from
  // the density in x = √ν · tan(θ): P(|T| ≤ t) = c·∫cos^(ν−1) over [−atan(t/√ν), atan(t/√ν)] (Abramowitz and Stegun 26.7).
  if (degrees_of_freedom > 1e6) {
    return 1.959963984540054;
  }
  const double nu = degrees_of_freedom;
  const double log_c = std::lgamma((nu + 1) / 2) - std::lgamma(nu / 2) - 0.5 * std::log(std::acos(-1.0));
  auto density = [&](double theta) { return std::exp(log_c + (nu - 1) * std::log(std::cos(theta))); };
  auto inside = [&](double t) {  // P(0 ≤ T ≤ t)
    const double end = std::atan(t / std::sqrt(nu));
    constexpr int steps = 400;
    double sum = density(0) + density(end);
    for (int i = 1; i < steps; ++i) {
      sum += density(end * i / steps) * (i % 2 == 1 ? 4 : 2);
    }
    return sum * end / steps / 3;
  };
  double low = 1.9, high = 13;  // 12.706 at ν = 1
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (inside(middle) < 0.475 ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::optional<Estimate> ratio_of_sums(const std::vector<Cluster>& clusters) {
  double numerator = 0, denominator = 0;
  for (const Cluster& cluster : clusters) {
    numerator += cluster.numerator;
    denominator += cluster.denominator;
  }
  if (!(denominator > 0)) {
    return std::nullopt;
  }
  Estimate estimate;
  estimate.value = numerator / denominator;
  estimate.clusters = clusters.size();
  if (clusters.size() >= 2) {
    double squares = 0;
    for (const Cluster& cluster : clusters) {
      const double residual = cluster.numerator - estimate.value * cluster.denominator;
      squares += residual * residual;
    }
    const double count = static_cast<double>(clusters.size());
    estimate.standard_error = std::sqrt(squares * count / (count - 1)) / denominator;
    const double half = t_quantile_975(count - 1) * estimate.standard_error;
    estimate.interval = Interval{estimate.value - half, estimate.value + half};
  }
  return estimate;
}

double quantile(std::vector<double>& values, double p) {
  const double position = std::clamp(p, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(position);
  std::nth_element(values.begin(), values.begin() + below, values.end());
  const double low = values[static_cast<size_t>(below)];
  const double part = position - static_cast<double>(below);
  if (part == 0) {
    return low;
  }
  return low + part * (*std::min_element(values.begin() + below + 1, values.end()) - low);
}

}  // namespace kvet::questions
