#include "questions/nccl_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kvet::questions {
namespace {

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (size_t from = 0; from < order.size();) {
    size_t to = from;
    while (to < order.size() && !(values[order[from]] < values[order[to]])) {
      ++to;
    }
    for (size_t i = from; i < to; ++i) {
      ranks[order[i]] = static_cast<double>(from + to - 1) / 2;
    }
    from = to;
  }
  return ranks;
}

}  // namespace

double t_upper_tail(double t, double degrees_of_freedom) {
  if (!(degrees_of_freedom >= 1) || std::isnan(t)) {
    return 1;
  }
  if (t < 0) {
    return 1 - t_upper_tail(-t, degrees_of_freedom);
  }
  // The density in x = √ν · tan(θ) is c·cos^(ν−1), integrated by Simpson's rule from t to the end (Abramowitz and Stegun 26.7).
  const double nu = degrees_of_freedom;
  const double c = std::exp(std::lgamma((nu + 1) / 2) - std::lgamma(nu / 2)) / std::sqrt(std::acos(-1.0));
  const double from = std::atan(t / std::sqrt(nu)), to = std::acos(0.0);
  auto density = [&](double theta) { return std::pow(std::max(0.0, std::cos(theta)), nu - 1); };
  constexpr int parts = 2000;
  double sum = density(from) + density(to);
  for (int i = 1; i < parts; ++i) {
    sum += density(from + (to - from) * i / parts) * (i % 2 == 1 ? 4 : 2);
  }
  return std::min(1.0, c * sum * (to - from) / parts / 3);
}

std::vector<double> without_trend(const std::vector<double>& values, size_t window) {
  std::vector<double> left;
  std::vector<double> around;
  for (size_t i = trend_edge; i + trend_edge < values.size(); ++i) {
    const size_t side = std::min({window / 2, i, values.size() - 1 - i});
    around.clear();
    for (size_t apart = 1; apart <= side; ++apart) {
      around.push_back((values[i - apart] + values[i + apart]) / 2);
    }
    const auto middle = around.begin() + static_cast<std::ptrdiff_t>(side / 2);
    std::ranges::nth_element(around, middle);
    left.push_back(values[i] - *middle);
  }
  return left;
}

std::optional<RankCorrelation> rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr size_t least = 8;
  if (a.size() != b.size() || a.size() < least) {
    return std::nullopt;
  }
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double count = static_cast<double>(x.size()), mean = (count - 1) / 2;
  double xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  if (!(xx > 0 && yy > 0)) {
    return std::nullopt;
  }
  const double r = std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
  if (std::abs(r) > 1 - 1e-12) {
    return RankCorrelation{r, {r, r}};
  }
  const double half = 1.959963984540054 * std::sqrt((1 + r * r / 2) / (count - 3));
  return RankCorrelation{r, {std::tanh(std::atanh(r) - half), std::tanh(std::atanh(r) + half)}};
}

}  // namespace kvet::questions
