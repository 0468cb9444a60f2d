#include "clocks/counter_alignment.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "clocks/match_fit.h"
#include "clocks/offset_path.h"
#include "clocks/robust.h"
#include "clocks/window_fit.h"

namespace kvet::clocks {
namespace {

int64_t floor_divide(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

// In intervals. Edges that have nothing to do with each other lie a quarter of a sample from any line, in the median.
constexpr double worst_residual = 0.15;
// And no fit is better than this: SMs do not start and stop all at once.
constexpr double least_residual = 0.002;
constexpr size_t parts_of_window = 4;

// A bias at either end is 1 to 2 µs; a sample does not tell it finer than a few hundredths of its length.
double bias_limit_ns(double interval_ns) { return std::max(3'000.0, 0.03 * interval_ns); }

// Edges are finer than what fits the load as a whole, and easier to lead astray. So they may refine the offset, not move
// it. Within the resolution of the one (a hundredth of an interval) and the delays of kernels (1 to 2 µs) the two agree.
bool agree(const MatchFit& edges, const MatchFit& parts, double interval_ns) {
  if (edges.segments.empty() || parts.segments.empty()) {
    return true;
  }
  const double x = edges.middle;
  return std::abs(value_at(edges, x) - value_at(parts, x)) <= std::max(2'000.0, 0.03 * interval_ns);
}

struct Matches {
  std::vector<Match> edges, flows, parts;
  double interval_ns = 0;
};

// `path`: the correction of each window, good to within half an interval; NaN: none.
Matches gather(const std::vector<WindowFit>& windows, const OffsetPath& path) {
  Matches found;
  std::vector<double> intervals;
  for (size_t i = 0; i < windows.size(); ++i) {
    const WindowFit& window = windows[i];
    if (std::isnan(path[i])) {
      continue;
    }
    const auto shift = static_cast<double>(window.origin_ns() - windows.front().origin_ns());
    for (const Edge& edge : window.edges(path[i])) {
      found.edges.push_back(
          {shift + edge.time_ns, path[i] + edge.error_ns, edge.rising ? MatchKind::start : MatchKind::end});
    }
    intervals.push_back(window.interval_ns());
    for (size_t part = 0; part < parts_of_window; ++part) {
      const double x = shift + window.part_middle_ns(part, parts_of_window), reach = window.interval_ns() / 2;
      const auto add = [&](std::vector<Match>& to, Channel channel, MatchKind kind) {
        const double own = window.part_minimum(path[i], reach, part, parts_of_window, channel);
        if (!std::isnan(own)) {
          to.push_back({x, own, kind});
        }
      };
      add(found.parts, Channel::everything, MatchKind::both);
      if (!window.has_edges()) {
        add(found.flows, Channel::warps_launched, MatchKind::start);
        add(found.flows, Channel::blocks_completed, MatchKind::end);
      }
    }
  }
  found.interval_ns = intervals.empty() ? 0 : median(intervals);
  return found;
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

Result<Alignment> CounterAlignment::align(const Expectation* expectation) const {
  if (!has_samples_) {
    return fail(ErrorKind::unavailable, "there are no samples");
  }
  if (!has_executions_) {
    return fail(ErrorKind::unavailable, "no executions were recorded that samples could be matched with");
  }
  std::vector<WindowFit> windows;
  windows.reserve(windows_.size());
  ExpectedPath expected;
  for (const auto& [index, window] : windows_) {
    windows.emplace_back(window.samples, window.executions, options_.coarse_offset_ns, index * options_.window_ns,
                         window.to_ns, options_.search_ns);
    if (expectation != nullptr) {
      const int64_t raw_ns = index * options_.window_ns - options_.coarse_offset_ns;
      const auto by_coarse = static_cast<double>(expectation->offset_origin_ns - options_.coarse_offset_ns);
      expected.corrections.push_back(
          by_coarse + interpolate(expectation->offsets, static_cast<double>(raw_ns - expectation->raw_origin_ns)));
      expected.reach_ns = expectation->reach_ns;
    }
  }
  const auto path = find_path(windows, static_cast<double>(options_.search_ns), expected);
  if (!path) {
    return std::unexpected(path.error());
  }

  // Mostly edges tell more than stretches; where there are none, or where kernels fade out, the stretches do.
  const Matches matches = gather(windows, *path);
  const double limit = bias_limit_ns(matches.interval_ns);
  const MatchFit edges = fit_matches(matches.edges, limit), flows = fit_matches(matches.flows, limit),
                 parts = fit_matches(matches.parts, limit);
  Alignment result;
  const MatchFit* best = &parts;
  result.by = AlignedBy::load;
  if (edges.error <= parts.error && agree(edges, parts, matches.interval_ns)) {
    best = &edges;
    result.by = AlignedBy::edges;
  }
  if (flows.error < best->error && agree(flows, parts, matches.interval_ns)) {
    best = &flows;
    result.by = AlignedBy::flows;
  }
  if (best->segments.empty()) {
    return fail(ErrorKind::unavailable, "too little changed on the device for an offset that could be checked");
  }
  const double least_ns = least_residual * matches.interval_ns;
  if (best->residual > worst_residual * matches.interval_ns) {
    return fail(ErrorKind::unavailable,
                fmt::format("the moments at which the device's load changed disagree about the offset by {:.1f} µs",
                            best->residual / 1e3));
  }
  result.matches = best->matches;
  result.residual_ns = std::llround(std::max(least_ns, best->residual));
  result.residual_p95_ns = std::llround(std::max(least_ns, best->residual_p95));
  result.drift_ns_per_s = best->drift * 1e9;
  result.starts = best->kind != MatchKind::end;
  if (best->half_bias) {
    result.half_bias_ns = std::llround(*best->half_bias);
  }
  for (const Segment& segment : best->segments) {
    // x is CLOCK_MONOTONIC by the coarse offset, so it runs as the raw clock does.
    ClockMapping mapping;
    mapping.source = ClockSource::counters;
    mapping.device = device_;
    mapping.from_ns = windows.front().origin_ns() + std::llround(segment.from) - options_.coarse_offset_ns;
    mapping.offset_ns = options_.coarse_offset_ns + std::llround(segment.line.at(segment.from));
    mapping.drift_ns_per_s = segment.line.slope * 1e9;
    mapping.residual_ns = std::llround(std::max(least_ns, segment.residual));
    mapping.residual_p95_ns = std::llround(std::max(least_ns, segment.residual_p95));
    mapping.start_bias_ns = mapping.end_bias_ns = result.half_bias_ns;
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
