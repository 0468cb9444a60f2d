// Estimates that a minority of wild values cannot move.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace kvet::clocks {

// The value below which this share lies, between two neighbours by interpolation. Not empty.
[[nodiscard]] inline double quantile(std::vector<double> values, double share) {
  const double place = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<size_t>(place);
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(low), values.end());
  const double below = values[low];
  if (low + 1 >= values.size()) {
    return below;
  }
  const double above = *std::min_element(values.begin() + static_cast<ptrdiff_t>(low) + 1, values.end());
  return below + (above - below) * (place - static_cast<double>(low));
}

[[nodiscard]] inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

// The shortest interval that holds this share of the values, two at least. Where most of them are displaced to one side, it
// lies where the rest is. Not empty.
struct Interval {
  double from = 0, to = 0;
  [[nodiscard]] double middle() const { return (from + to) / 2; }
  [[nodiscard]] double width() const { return to - from; }
};
[[nodiscard]] Interval densest(std::vector<double> values, double share);

// Median distance from `centre`.
[[nodiscard]] inline double median_distance(std::vector<double> values, double centre) {
  for (double& value : values) {
    value = std::abs(value - centre);
  }
  return median(std::move(values));
}

struct Point {
  double x, y;
};
struct Line {
  double x = 0, y = 0, slope = 0;  // through (x, y)
  [[nodiscard]] double at(double where) const { return y + slope * (where - x); }
};
// Between neighbours on a straight line, beyond the first and the last as they are. By x, not empty.
[[nodiscard]] double interpolate(const std::vector<Point>& points, double x);

// Theil (1950) and Sen (1968): the median slope over pairs of points, through the median of what is left. Holds while
// fewer than 29% of the points are wild. Many points are thinned to `most`, evenly. Not empty.
[[nodiscard]] Line robust_line(const std::vector<Point>& points, size_t most = 400);

}  // namespace kvet::clocks
