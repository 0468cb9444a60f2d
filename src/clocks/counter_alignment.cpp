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
// The first mapping begins before the first stretch, so that no sample is left to the coarse mapping before it.
constexpr double first_mapping_lead_ns = 60e9;

// Edges that have nothing to do with each other lie a quarter of a sample from any line, in the median.
constexpr double worst_residual = 0.15;

// Corrections over time (x: ns since the first stretch) as lines that follow each other.
struct Segment {
  double from;
  Line line;
  double residual = 0;
};

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
  for (const auto& [index, window] : windows_) {
    windows.emplace_back(window.samples, window.executions, options_.coarse_offset_ns, index * options_.window_ns,
                         window.to_ns, options_.search_ns);
  }
  const auto path = find_path(windows, static_cast<double>(options_.search_ns));
  if (!path) {
    return std::unexpected(path.error());
  }

  // Edges tell more than a stretch as a whole; where there are none, the best offset of each stretch is what there is.
  std::vector<Edge> edges;
  std::vector<double> corrections;  // of the stretch that an edge lies in
  std::vector<Point> from_edges, from_windows;
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
    from_windows.push_back({shift + static_cast<double>(options_.window_ns) / 2, (*path)[i]});
  }
  const double bias = edge_bias(edges);
  for (size_t i = 0; i < edges.size(); ++i) {
    from_edges.push_back({edges[i].time_ns, corrections[i] + edges[i].error_ns - (edges[i].rising ? bias : -bias)});
  }
  const bool by_edges = from_edges.size() >= piece_matches;
  std::vector<Point>& points = by_edges ? from_edges : from_windows;
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });

  Alignment result;
  result.edges = from_edges.size();
  std::vector<Segment> segments = fit_segments(points);
  result.residual_ns = std::llround(median(measure_residuals(points, segments)));
  if (const double limit = worst_residual * windows.front().interval_ns();
      static_cast<double>(result.residual_ns) > limit) {
    return fail(
        ErrorKind::unavailable,
        fmt::format("the moments at which the device became busy or idle disagree about the offset by {:.1f} µs",
                    static_cast<double>(result.residual_ns) / 1e3));
  }
  for (const Segment& segment : segments) {
    // x is CLOCK_MONOTONIC by the coarse offset, so it runs as the raw clock does.
    ClockMapping mapping;
    mapping.source = ClockSource::counters;
    mapping.device = device_;
    mapping.from_ns = origin_ns + std::llround(segment.from) - options_.coarse_offset_ns;
    mapping.offset_ns = options_.coarse_offset_ns + std::llround(segment.line.at(segment.from));
    mapping.drift_ns_per_s = segment.line.slope * 1e9;
    mapping.residual_ns = std::llround(segment.residual);
    result.mappings.push_back(mapping);
  }
  result.drift_ns_per_s = robust_line(points).slope * 1e9;
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
