#include "clocks/robust.h"

namespace kvet::clocks {

Interval densest(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto wanted = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  const size_t count = std::min(values.size(), std::max<size_t>(2, wanted));
  Interval best{values.front(), values.back()};
  for (size_t i = 0; i + count <= values.size(); ++i) {
    const Interval here{values[i], values[i + count - 1]};
    best = here.width() < best.width() ? here : best;
  }
  return best;
}

double interpolate(const std::vector<Point>& points, double x) {
  if (x <= points.front().x || points.size() == 1) {
    return points.front().y;
  }
  for (size_t i = 1; i < points.size(); ++i) {
    if (x <= points[i].x) {
      const Point& left = points[i - 1];
      return left.y + (points[i].y - left.y) * (x - left.x) / (points[i].x - left.x);
    }
  }
  return points.back().y;
}

Line robust_line(const std::vector<Point>& points, size_t most) {
  const size_t step = (points.size() + most - 1) / most;
  std::vector<Point> kept;
  for (size_t i = 0; i < points.size(); i += step) {
    kept.push_back(points[i]);
  }
  std::vector<double> slopes;
  for (size_t i = 0; i < kept.size(); ++i) {
    for (size_t j = i + 1; j < kept.size(); ++j) {
      if (kept[i].x != kept[j].x) {
        slopes.push_back((kept[j].y - kept[i].y) / (kept[j].x - kept[i].x));
      }
    }
  }
  Line line;
  line.slope = slopes.empty() ? 0 : median(slopes);
  std::vector<double> xs, rests;
  for (const Point& point : points) {
    xs.push_back(point.x);
  }
  line.x = median(xs);
  for (const Point& point : points) {
    rests.push_back(point.y - line.slope * (point.x - line.x));
  }
  line.y = median(rests);
  return line;
}

}  // namespace kvet::clocks
