#include "clocks/counter_alignment.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "clocks/offset_path.h"
#include "clocks/robust.h"
#include "clocks/window_fit.h"

namespace kvet::clocks {
namespace {

int64_t floor_divide(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

constexpr double piece_ns = 3e9;      // the drift is taken as constant for so long
constexpr size_t piece_matches = 12;  // and a piece has at least so many matches
constexpr double slope_error_limit = 1e-6;  // a drift that is less certain than this is taken as none
// The first mapping begins before the first stretch, so that no sample is left to the coarse mapping before it.
constexpr double first_mapping_lead_ns = 2e9;

// In intervals. Edges that have nothing to do with each other lie a quarter of a sample from any line, in the median.
constexpr double worst_residual = 0.15;
// And no fit is better than this: SMs do not start and stop all at once.
constexpr double least_residual = 0.002;
constexpr size_t parts_of_window = 4;

// Corrections over time (x: ns since the first stretch) as lines that follow each other.
struct Segment {
  double from;
  Line line;
  double residual = 0;
};

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

// Distances of the points from the segments; sets each segment's residual to the median of its own.
std::vector<double> measure_residuals(const std::vector<Point>& points, std::vector<Segment>& segments) {
  std::vector<double> all;
  size_t next_point = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    std::vector<double> own;
    for (; next_point < points.size() && (i + 1 == segments.size() || points[next_point].x < segments[i + 1].from);
         ++next_point) {
      own.push_back(std::abs(points[next_point].y - segments[i].line.at(points[next_point].x)));
    }
    segments[i].residual = own.empty() ? 0 : median(own);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

struct Fit {
  std::vector<Segment> segments;  // none: there are too few points
  double residual = 0, drift = 0, middle = 0;
  double error = INFINITY;  // of the whole, roughly: as of a mean of as many values
};

Fit fit(std::vector<Point> points) {
  Fit result;
  if (points.size() < 3) {
    return result;
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  result.middle = points[points.size() / 2].x;
  result.segments = fit_segments(points);
  result.residual = median(measure_residuals(points, result.segments));
  result.drift = result.segments.size() == 1 ? result.segments[0].line.slope : robust_line(points).slope;
  // No match is better than half a µs, however well a few of them agree.
  result.error = std::max(500.0, result.residual) / std::sqrt(static_cast<double>(points.size()));
  return result;
}

double value_at(const Fit& fit, double x) {
  const Segment* holds = &fit.segments.front();
  for (const Segment& segment : fit.segments) {
    holds = segment.from <= x ? &segment : holds;
  }
  return holds->line.at(x);
}

// Edges are finer than what fits the load as a whole, and easier to lead astray: a kernel that fades out on some SMs
// shifts every edge of its kind. So they may refine the offset, not move it. Within the resolution of the one (a
// hundredth of an interval) and the delays of kernels (1 to 2 µs) the two agree.
bool agree(const Fit& edges, const Fit& parts, double interval_ns) {
  if (edges.segments.empty() || parts.segments.empty()) {
    return true;
  }
  const double x = edges.middle;
  return std::abs(value_at(edges, x) - value_at(parts, x)) <= std::max(2'000.0, 0.03 * interval_ns);
}

// Kernels start a little after, and end a little before, CUPTI says. Edges of both kinds then lie on either side of the
// truth by the same amount: half the distance between the two is no error of the clock. With one kind alone it cannot be
// known.
double edge_bias(const std::vector<Edge>& edges) {
  std::vector<double> rising, falling;
  for (const Edge& edge : edges) {
    (edge.rising ? rising : falling).push_back(edge.error_ns);
  }
  return rising.empty() || falling.empty() ? 0 : (median(rising) - median(falling)) / 2;
}

}  // namespace

bool CounterAlignment::wanted(int64_t index) const {
  // The last two stretches, since the end of the work says much, and groups of three: neighbours tell the drift well
  // enough to find the next group without confusing periods of the workload.
  const int64_t place = (index - *first_) % stride_;
  return place == 0 || place == 1 || place == 3 || index >= latest_ - 1;
}

// A sample of that stretch came. Executions do not advance this: one with an absurd time would throw everything out.
void CounterAlignment::see(int64_t index) {
  if (index > latest_) {
    latest_ = index;
    std::erase_if(windows_, [this](const auto& entry) { return !wanted(entry.first); });
  }
}

CounterAlignment::Window* CounterAlignment::window(int64_t index) {
  if (!wanted(index)) {
    return nullptr;
  }
  auto [found, added] = windows_.try_emplace(index);
  if (added) {
    found->second.to_ns = (index + 1) * options_.window_ns;
    while (windows_.size() > std::max<size_t>(8, options_.windows_limit)) {
      stride_ *= 2;
      std::erase_if(windows_, [this](const auto& entry) { return !wanted(entry.first); });
    }
    found = windows_.find(index);
  }
  return found == windows_.end() ? nullptr : &found->second;
}

void CounterAlignment::add(const MeasuredLoad& sample) {
  has_samples_ = true;
  const int64_t start_ns = sample.start_ns + options_.coarse_offset_ns;
  const int64_t index = floor_divide(start_ns, options_.window_ns);
  if (!first_) {
    first_ = index;
  }
  see(index);
  if (Window* found = window(index); found != nullptr && start_ns < found->to_ns) {
    found->samples.push_back(sample);
    cut(index, *found);
  }
}

void CounterAlignment::add(const ExpectedLoad& execution) {
  has_executions_ = true;
  if (!first_ || execution.end_ns <= execution.start_ns) {
    return;  // without samples there is nothing to match it with
  }
  // A kernel that runs for minutes touches many stretches; only kept ones cost anything. Samples may lag behind the
  // executions by some seconds, not by more.
  const int64_t first = std::max(*first_, floor_divide(execution.start_ns, options_.window_ns));
  const int64_t last = std::min(latest_ + 20, floor_divide(execution.end_ns, options_.window_ns));
  for (int64_t index = first; index <= last; ++index) {
    Window* found = window(index);
    if (found == nullptr || execution.start_ns >= found->to_ns) {
      continue;
    }
    found->executions.push_back(execution);
    cut(index, *found);
  }
}

// Keeps a stretch within its limits by giving up its second half.
void CounterAlignment::cut(int64_t index, Window& window) {
  const int64_t from_ns = index * options_.window_ns;
  while (window.samples.size() > options_.samples_limit || window.executions.size() > options_.executions_limit) {
    window.to_ns = from_ns + (window.to_ns - from_ns) / 2;
    if (window.to_ns - from_ns < 1'000) {  // so many in a µs are no events of a device
      window.samples.clear();
      window.executions.clear();
      return;
    }
    std::erase_if(window.executions, [&](const ExpectedLoad& one) { return one.start_ns >= window.to_ns; });
    std::erase_if(window.samples,
                  [&](const MeasuredLoad& one) { return one.start_ns + options_.coarse_offset_ns >= window.to_ns; });
  }
}

Result<Alignment> CounterAlignment::align() const {
  if (!has_samples_) {
    return fail(ErrorKind::unavailable, "there are no samples");
  }
  if (!has_executions_) {
    return fail(ErrorKind::unavailable, "no executions were recorded that samples could be matched with");
  }
  std::vector<WindowFit> windows;
  windows.reserve(windows_.size());
  for (const auto& [index, window] : windows_) {
    windows.emplace_back(window.samples, window.executions, options_.coarse_offset_ns, index * options_.window_ns,
                         window.to_ns, options_.search_ns);
  }
  const auto path = find_path(windows, static_cast<double>(options_.search_ns));
  if (!path) {
    return std::unexpected(path.error());
  }

  // Mostly edges tell more than parts of a stretch; where there are none, or where kernels fade out, the parts do.
  std::vector<Edge> edges;
  std::vector<double> corrections;  // of the stretch that an edge lies in
  std::vector<Point> from_edges, from_parts;
  std::vector<double> intervals;
  const int64_t origin_ns = windows.front().origin_ns();
  for (size_t i = 0; i < windows.size(); ++i) {
    if (std::isnan((*path)[i])) {
      continue;
    }
    const auto shift = static_cast<double>(windows[i].origin_ns() - origin_ns);
    for (Edge edge : windows[i].edges((*path)[i])) {
      edge.time_ns += shift;
      edges.push_back(edge);
      corrections.push_back((*path)[i]);
    }
    intervals.push_back(windows[i].interval_ns());
    for (size_t part = 0; part < parts_of_window; ++part) {
      const double own = windows[i].part_minimum((*path)[i], windows[i].interval_ns() / 2, part, parts_of_window);
      if (!std::isnan(own)) {
        from_parts.push_back({shift + windows[i].part_middle_ns(part, parts_of_window), own});
      }
    }
  }
  const double bias = edge_bias(edges);
  for (size_t i = 0; i < edges.size(); ++i) {
    from_edges.push_back({edges[i].time_ns, corrections[i] + edges[i].error_ns - (edges[i].rising ? bias : -bias)});
  }
  const double interval_ns = median(intervals);
  const Fit edge_fit = fit(std::move(from_edges)), part_fit = fit(std::move(from_parts));
  const bool by_edges = edge_fit.error <= part_fit.error && agree(edge_fit, part_fit, interval_ns);
  const Fit& best = by_edges ? edge_fit : part_fit;
  if (best.segments.empty()) {
    return fail(ErrorKind::unavailable, "too little changed on the device for an offset that could be checked");
  }
  const double residual_ns = std::max(least_residual * interval_ns, best.residual);
  if (residual_ns > worst_residual * interval_ns) {
    return fail(ErrorKind::unavailable,
                fmt::format("the moments at which the device's load changed disagree about the offset by {:.1f} µs",
                            residual_ns / 1e3));
  }
  Alignment result;
  result.edges = by_edges ? edges.size() : 0;
  result.residual_ns = std::llround(residual_ns);
  result.drift_ns_per_s = best.drift * 1e9;
  for (const Segment& segment : best.segments) {
    // x is CLOCK_MONOTONIC by the coarse offset, so it runs as the raw clock does.
    ClockMapping mapping;
    mapping.source = ClockSource::counters;
    mapping.device = device_;
    mapping.from_ns = origin_ns + std::llround(segment.from) - options_.coarse_offset_ns;
    mapping.offset_ns = options_.coarse_offset_ns + std::llround(segment.line.at(segment.from));
    mapping.drift_ns_per_s = segment.line.slope * 1e9;
    mapping.residual_ns = std::llround(std::max(least_residual * interval_ns, segment.residual));
    result.mappings.push_back(mapping);
  }
  return result;
}

Result<Alignment> align_counters(std::span<const Sample> raw, std::span<const Execution> mapped,
                                 std::span<const KernelShape> shapes, const Device& device,
                                 const AlignmentOptions& options) {
  CounterAlignment alignment(device.id, options);
  for (const Sample& sample : raw) {
    if (sample.device == device.id) {
      alignment.add(measured_load(sample, device.multiprocessors));
    }
  }
  for (const Execution& execution : mapped) {
    if (execution.device == device.id && execution.shape.value < shapes.size()) {
      alignment.add(expected_load(execution, shapes[execution.shape.value], device));
    }
  }
  return alignment.align();
}

}  // namespace kvet::clocks
