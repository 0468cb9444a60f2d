#include "clocks/match_fit.h"

#include <algorithm>
#include <cmath>

namespace kvet::clocks {
namespace {

constexpr double piece_ns = 3e9;      // the drift is taken as constant for so long
constexpr size_t piece_matches = 12;  // and a piece has at least so many matches
constexpr double slope_error_limit = 1e-6;  // a drift that is less certain than this is taken as none
// The first mapping begins before the first stretch, so that no sample is left to the coarse mapping before it.
constexpr double first_mapping_lead_ns = 2e9;
constexpr size_t least_matches = 3;
// Ends scatter more than starts, since the last blocks of a grid end one by one. Where they do so by this factor, the
// lines are laid through the starts alone, and the ends only say how far the middle is.
constexpr double scatter_factor = 1.5;
constexpr double dense_share = 0.1;
constexpr size_t few_ends = 30;

// How far off the slope may be: as for a least-squares line through points spread evenly over their span, where the
// standard error is σ √12 ÷ (span √n); σ from the median distance.
// No match is better than half a µs, however well a few of them agree.
double slope_error(const std::vector<Point>& points, const Line& line) {
  const double span = points.back().x - points.front().x;
  std::vector<double> rests;
  rests.reserve(points.size());
  for (const Point& point : points) {
    rests.push_back(point.y - line.at(point.x));
  }
  const double sigma = std::max(500.0, 1.4826 * median_distance(rests, 0));
  return span <= 0 ? INFINITY : sigma * std::sqrt(12 / static_cast<double>(points.size())) / span;
}

// A line each for consecutive pieces of at least piece_ns and piece_matches; the rest goes to the last.
std::vector<Line> piece_lines(const std::vector<Point>& points) {
  std::vector<Line> lines;
  std::vector<Point> gathered;
  size_t begin = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    gathered.push_back(points[i]);
    const bool enough = gathered.size() >= piece_matches && points[i].x - points[begin].x >= piece_ns;
    const bool rest_is_enough = points.size() - i - 1 >= piece_matches && points.back().x - points[i].x >= piece_ns;
    if (enough && rest_is_enough) {
      lines.push_back(robust_line(gathered));
      gathered.clear();
      begin = i + 1;
    }
  }
  lines.push_back(robust_line(gathered));
  if (lines.size() == 1 && slope_error(points, lines[0]) > slope_error_limit) {
    std::vector<double> corrections;
    corrections.reserve(points.size());
    for (const Point& point : points) {
      corrections.push_back(point.y);
    }
    lines[0] = {lines[0].x, median(corrections), 0};
  }
  return lines;
}

// From the middle of one piece to the middle of the next: there each line is certain, whatever its slope, and a long
// recording has pieces of two seconds with minutes between them.
std::vector<Segment> fit_segments(const std::vector<Point>& points) {
  const std::vector<Line> lines = piece_lines(points);
  std::vector<Segment> segments;
  if (lines.size() == 1) {
    segments.push_back({-first_mapping_lead_ns, lines[0]});
  }
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    const Line& here = lines[i];
    const Line& next = lines[i + 1];
    const Line line{here.x, here.y, (next.y - here.y) / (next.x - here.x)};
    segments.push_back({i == 0 ? -first_mapping_lead_ns : here.x, line});
  }
  return segments;
}

// Distances of the points from the segments; sets each segment's residuals to those of its own.
std::vector<double> measure_residuals(const std::vector<Point>& points, std::vector<Segment>& segments) {
  std::vector<double> all;
  size_t next_point = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    std::vector<double> own;
    for (; next_point < points.size() && (i + 1 == segments.size() || points[next_point].x < segments[i + 1].from);
         ++next_point) {
      own.push_back(std::abs(points[next_point].y - segments[i].line.at(points[next_point].x)));
    }
    if (!own.empty()) {
      segments[i].residual = median(own);
      segments[i].residual_p95 = quantile(own, 0.95);
    }
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

MatchFit lay_lines(std::vector<Point> points) {
  MatchFit result;
  if (points.size() < least_matches) {
    return result;
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  result.middle = points[points.size() / 2].x;
  result.matches = points.size();
  result.segments = fit_segments(points);
  const std::vector<double> distances = measure_residuals(points, result.segments);
  result.residual = median(distances);
  result.residual_p95 = quantile(distances, 0.95);
  result.drift = result.segments.size() == 1 ? result.segments[0].line.slope : robust_line(points).slope;
  // No match is better than half a µs, however well a few of them agree.
  result.error = std::max(500.0, result.residual) / std::sqrt(static_cast<double>(points.size()));
  return result;
}

std::vector<Point> points_of(const std::vector<Match>& matches, MatchKind kind, double shift) {
  std::vector<Point> points;
  for (const Match& match : matches) {
    if (match.kind == kind) {
      points.push_back({match.x, match.correction + shift});
    }
  }
  return points;
}

// How far above the starts' lines the ends lie: so drift in between does not count. Kernels whose blocks end one by one ask
// for more by any amount, those that end at once all for the same; so where the ends are densest is the answer, if they
// are dense there. Nothing: they are not.
std::optional<double> ends_above(const std::vector<Point>& ends, const MatchFit& starts, double limit_ns) {
  std::vector<double> above;
  above.reserve(ends.size());
  for (const Point& point : ends) {
    above.push_back(point.y - value_at(starts, point.x));
  }
  // Half of the distance is the bias: so it may be this much.
  const auto possible = [&](double value) { return value <= 2 * limit_ns && value >= -limit_ns / 2; };
  const double middle = median(above);
  if (possible(middle) && median_distance(above, middle) < limit_ns / 2) {
    return middle;
  }
  if (above.size() < few_ends) {
    return std::nullopt;
  }
  const Interval dense = densest(above, dense_share);
  return possible(dense.middle()) && dense.width() < limit_ns / 4 ? std::optional(dense.middle()) : std::nullopt;
}

}  // namespace

double value_at(const MatchFit& fit, double x) {
  const Segment* holds = &fit.segments.front();
  for (const Segment& segment : fit.segments) {
    holds = segment.from <= x ? &segment : holds;
  }
  return holds->line.at(x);
}

MatchFit fit_matches(const std::vector<Match>& matches, double bias_limit_ns) {
  const std::vector<Point> starts = points_of(matches, MatchKind::start, 0),
                           ends = points_of(matches, MatchKind::end, 0);
  MatchFit start_fit = lay_lines(starts), end_fit = lay_lines(ends);
  start_fit.kind = MatchKind::start;
  end_fit.kind = MatchKind::end;
  if (start_fit.segments.empty() && end_fit.segments.empty()) {
    return lay_lines(points_of(matches, MatchKind::both, 0));
  }
  if (start_fit.segments.empty() || end_fit.segments.empty()) {
    return start_fit.segments.empty() ? end_fit : start_fit;
  }
  // The correction that a start asks for is too small by what the start is late, that of an end too large.
  const std::optional<double> above = ends_above(ends, start_fit, bias_limit_ns);
  if (!above) {
    return start_fit;
  }
  const double half = *above / 2;
  const bool ends_scatter = end_fit.residual_p95 > scatter_factor * std::max(500.0, start_fit.residual_p95);
  std::vector<Point> points = points_of(matches, MatchKind::start, half);
  if (!ends_scatter) {
    const std::vector<Point> shifted = points_of(matches, MatchKind::end, -half);
    points.insert(points.end(), shifted.begin(), shifted.end());
  }
  MatchFit result = lay_lines(std::move(points));
  result.kind = ends_scatter ? MatchKind::start : MatchKind::both;
  result.half_bias = half;
  return result;
}

}  // namespace kvet::clocks
