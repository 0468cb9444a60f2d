#include "clocks/offset_path.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "clocks/robust.h"

namespace kvet::clocks {
namespace {

// GPU and host clocks drift by 2.8 µs/s on an H200; cheap crystals and a slewed host clock differ by some tens of ppm.
// Temperature moves that only slowly, so once a drift is known it leaves little to search.
constexpr double drift_limit = 60e-6;       // ns per ns, before any drift is known
constexpr double drift_change_limit = 1e-6; // afterwards
constexpr double slope_span_ns = 1e9;       // a drift over less than this is noise
constexpr size_t candidates_limit = 12;
constexpr size_t anchors_limit = 6;
// A wrong answer must explain the samples worse than the right one by this many samples' worth beyond what noise can do.
constexpr double least_evidence = 2;
constexpr double noise_factor = 5;
// The right offset leaves at most this part of the disagreement that an offset picked at random leaves.
constexpr double worst_fit = 0.7;

struct Candidate {
  double offset, cost;
};

// Local minima in middle ± search, the best first. Shifts by a period of the workload are all among them.
std::vector<Candidate> local_minima(const WindowFit& window, double middle_ns, double search_ns) {
  const double step = window.interval_ns() / 4;
  const auto half = static_cast<int>(std::ceil(search_ns / step));
  std::vector<double> costs;
  for (int i = -half; i <= half; ++i) {
    costs.push_back(window.cost(middle_ns + i * step));
  }
  std::vector<Candidate> minima;
  for (size_t i = 0; i < costs.size(); ++i) {
    const bool falls = i == 0 || costs[i] <= costs[i - 1];
    const bool rises = i + 1 == costs.size() || costs[i] < costs[i + 1];
    if (falls && rises) {
      minima.push_back({middle_ns + (static_cast<double>(i) - half) * step, costs[i]});
    }
  }
  std::sort(minima.begin(), minima.end(), [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  if (minima.size() > candidates_limit) {
    minima.resize(candidates_limit);
  }
  return minima;
}

// Costs all over the range, coarsely.
std::vector<double> survey(const WindowFit& window, double search_ns) {
  std::vector<double> costs;
  const double step = std::max(window.interval_ns() / 2, search_ns / 100);
  for (double offset = -search_ns; offset <= search_ns; offset += step) {
    costs.push_back(window.cost(offset));
  }
  return costs;
}

// How much the right offset can be told from wrong ones in this window, in samples.
double contrast(const WindowFit& window, double search_ns) {
  const std::vector<double> costs = survey(window, search_ns);
  return *std::max_element(costs.begin(), costs.end()) - *std::min_element(costs.begin(), costs.end());
}

double time_between(const WindowFit& from, const WindowFit& to) {
  return static_cast<double>(to.origin_ns() - from.origin_ns());
}

// From the anchor outwards in one direction. The drift comes from the windows passed so far, and what it leaves open
// (an offset is good to some hundredths of an interval) decides how far the next window is searched.
void follow(std::span<const WindowFit> windows, size_t anchor, int direction, OffsetPath& path) {
  std::vector<size_t> passed{anchor};
  for (auto i = static_cast<ptrdiff_t>(anchor) + direction; i >= 0 && i < static_cast<ptrdiff_t>(windows.size());
       i += direction) {
    const auto index = static_cast<size_t>(i);
    const WindowFit& window = windows[index];
    if (!window.usable()) {
      continue;
    }
    const size_t last = passed.back(), first = passed.front();
    const double span = time_between(windows[first], windows[last]);
    double slope = 0, slope_limit = drift_limit;
    if (std::abs(span) >= slope_span_ns) {
      slope = (path[last] - path[first]) / span;
      slope_limit = std::min(drift_limit, drift_change_limit + 0.04 * window.interval_ns() / std::abs(span));
    }
    const double elapsed = time_between(windows[last], window);
    const double reach = 0.2 * window.interval_ns() + std::abs(elapsed) * slope_limit;
    path[index] = window.minimum(path[last] + slope * elapsed, reach);
    passed.push_back(index);
    // The drift of the last half minute says more about the next window than that of the whole recording.
    while (passed.size() > 2 && std::abs(time_between(windows[passed[1]], windows[index])) > 30e9) {
      passed.erase(passed.begin());
    }
  }
}

OffsetPath path_through(std::span<const WindowFit> windows, size_t anchor, double offset) {
  OffsetPath path(windows.size(), std::numeric_limits<double>::quiet_NaN());
  path[anchor] = offset;
  follow(windows, anchor, 1, path);
  follow(windows, anchor, -1, path);
  return path;
}

double total_cost(std::span<const WindowFit> windows, const OffsetPath& path) {
  double sum = 0;
  for (size_t i = 0; i < windows.size(); ++i) {
    if (!std::isnan(path[i])) {
      sum += windows[i].cost(path[i]);
    }
  }
  return sum;
}

// Two paths that are nowhere apart by more than this are the same answer.
bool same(std::span<const WindowFit> windows, const OffsetPath& a, const OffsetPath& b) {
  std::vector<double> apart;
  for (size_t i = 0; i < windows.size(); ++i) {
    if (!std::isnan(a[i]) && !std::isnan(b[i])) {
      apart.push_back(std::abs(a[i] - b[i]) / windows[i].interval_ns());
    }
  }
  return apart.empty() || median(apart) < 0.4;
}

double distance(const OffsetPath& a, const OffsetPath& b) {
  std::vector<double> apart;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isnan(a[i]) && !std::isnan(b[i])) {
      apart.push_back(std::abs(a[i] - b[i]));
    }
  }
  return apart.empty() ? 0 : median(apart);
}

// Whether `wrong` explains the samples worse than `right` by more than noise can. Where `right` is right, the samples
// that speak against it do so by noise alone, and as much noise again is among those that speak for it.
bool refuted(std::span<const WindowFit> windows, const OffsetPath& right, const OffsetPath& wrong) {
  std::vector<double> of_right, of_wrong;
  double evidence = 0, against = 0;
  for (size_t i = 0; i < windows.size(); ++i) {
    if (std::isnan(right[i]) || std::isnan(wrong[i])) {
      continue;
    }
    windows[i].costs(right[i], of_right);
    windows[i].costs(wrong[i], of_wrong);
    for (size_t k = 0; k < of_right.size(); ++k) {
      const double difference = of_wrong[k] - of_right[k];
      evidence += difference;
      against += difference < 0 ? difference * difference : 0;
    }
  }
  return evidence > least_evidence + noise_factor * std::sqrt(2 * against);
}

}  // namespace

Result<OffsetPath> find_path(std::span<const WindowFit> windows, double search_ns, const ExpectedPath& expected) {
  // The window in which offsets can best be told apart comes first.
  std::vector<size_t> usable;
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i].usable()) {
      usable.push_back(i);
    }
  }
  if (usable.empty()) {
    return fail(ErrorKind::unavailable,
                "the counters and the executions show no change that could be matched: the device was idle or evenly "
                "busy throughout");
  }
  size_t anchor = usable.front();
  double best_contrast = -1;
  const size_t step = std::max<size_t>(1, usable.size() / anchors_limit);
  for (size_t k = 0; k < usable.size(); k += step) {
    if (const double here = contrast(windows[usable[k]], search_ns); here > best_contrast) {
      best_contrast = here;
      anchor = usable[k];
    }
  }
  if (best_contrast < least_evidence) {
    return fail(ErrorKind::unavailable, "no offset explains the counters better than any other");
  }

  // What the anchor alone rules out needs not be followed any further.
  const WindowFit& window = windows[anchor];
  const bool is_expected = !expected.corrections.empty();
  std::vector<Candidate> candidates = is_expected
                                          ? local_minima(window, expected.corrections[anchor], expected.reach_ns)
                                          : local_minima(window, 0, search_ns);
  for (Candidate& candidate : candidates) {
    candidate.offset = window.minimum(candidate.offset, window.interval_ns() / 4);
    candidate.cost = window.cost(candidate.offset);
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  const std::span<const WindowFit> alone(&window, 1);
  std::vector<OffsetPath> paths;
  for (const Candidate& candidate : candidates) {
    if (candidate.offset != candidates[0].offset && refuted(alone, {candidates[0].offset}, {candidate.offset})) {
      continue;
    }
    OffsetPath path = path_through(windows, anchor, candidate.offset);
    const bool known =
        std::any_of(paths.begin(), paths.end(), [&](const OffsetPath& other) { return same(windows, path, other); });
    if (!known) {
      paths.push_back(std::move(path));
    }
  }
  std::sort(paths.begin(), paths.end(),
            [&](const OffsetPath& a, const OffsetPath& b) { return total_cost(windows, a) < total_cost(windows, b); });
  for (size_t i = 1; i < paths.size(); ++i) {
    if (!refuted(windows, paths[0], paths[i])) {
      return fail(ErrorKind::unavailable,
                  fmt::format("the workload repeats, and offsets {:.0f} µs apart fit alike",
                              distance(paths[0], paths[i]) / 1e3),
                  {}, "Record the start of the work, or a pause in it");
    }
  }
  if (window.cost(paths[0][anchor]) > worst_fit * median(survey(window, search_ns))) {
    return fail(ErrorKind::unavailable, "no offset explains the counters much better than chance does");
  }
  return paths.front();
}

}  // namespace kvet::clocks
