#include "clocks/pulse_fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/quadrature.h"
#include "clocks/robust.h"

namespace kvet::clocks {
namespace {

constexpr size_t least_pulses = 4;
constexpr double quiet = 0.02;        // of the pulse's level: what an idle sample may read
constexpr double whole = 0.95;        // of the level: what a sample reads that lies within the pulse
constexpr double least_scatter = 300;  // ns: pulses closer to each other than this are no outliers
constexpr double timer_drift_ns = 1'000;     // 60 ppm over a train of 16 ms
constexpr double longest_unlogged = 20'000;  // ns: no launch and drain of a block takes so long
// The right offset leaves at most this part of the disagreement that offsets picked at random leave.
constexpr double worst_match = 0.5;

// CLOCK_MONOTONIC − timer.
struct TimerOffset {
  double offset = 0, half_width = 0;
  double step = 0;  // of the timer
};

// Each handshake bounds the offset from both sides; all of them together, within some ms, from closer.
std::optional<TimerOffset> timer_offset(const PulseTrain& train) {
  if (train.handshakes.empty()) {
    return std::nullopt;
  }
  // The timer moves in steps (32 ns to 1 µs): what was read was reached up to one step before.
  int64_t step = 0;
  for (const Handshake& one : train.handshakes) {
    step = std::gcd(step, one.timer_ns - train.handshakes.front().timer_ns);
  }
  step = std::min<int64_t>(step, 2'000);
  double low = -INFINITY, high = INFINITY, tightest = INFINITY, low_of_tightest = 0;
  for (const Handshake& one : train.handshakes) {
    const auto own_low = static_cast<double>(one.before_ns - one.timer_ns - step + train.timer_origin_ns);
    const auto own_high = static_cast<double>(one.after_ns - one.timer_ns + train.timer_origin_ns);
    low = std::max(low, own_low);
    high = std::min(high, own_high);
    if (own_high - own_low < tightest) {
      tightest = own_high - own_low;
      low_of_tightest = own_low;
    }
  }
  if (low > high && low - high < timer_drift_ns) {  // the clocks drifted apart from the first to the last
    std::swap(low, high);
  } else if (low > high) {  // they contradict each other: the timer was set, or its step is not what it seems
    low = low_of_tightest;
    high = low + tightest;
  }
  return TimerOffset{(low + high) / 2, (high - low) / 2, static_cast<double>(step)};
}

struct Row {
  double start, end, busy;  // raw − origin
};

double match_cost(const std::vector<Row>& rows, const Cumulative& expected, double offset) {
  double sum = 0;
  size_t hint = 0;
  for (const Row& row : rows) {
    const double before = expected.at(row.start + offset, hint);
    sum += std::abs(row.busy - (expected.at(row.end + offset, hint) - before) / (row.end - row.start));
  }
  return sum;
}

// timer − raw, roughly: where the whole train fits best, to a twentieth of an interval.
std::optional<double> rough_offset(const std::vector<Row>& rows, const PulseTrain& train, double guess, double search,
                                   double interval) {
  Cumulative expected;
  for (const Pulse& pulse : train.pulses) {
    expected.add_rate(pulse.entry_ns, pulse.exit_ns, pulse.level);
  }
  expected.finish(1);
  const double step = interval / 20;
  double best = guess, best_cost = INFINITY;
  std::vector<double> costs;
  for (double offset = guess - search; offset <= guess + search; offset += step) {
    costs.push_back(match_cost(rows, expected, offset));
    if (costs.back() < best_cost) {
      best_cost = costs.back();
      best = offset;
    }
  }
  return best_cost <= worst_match * median(costs) ? std::optional(best) : std::nullopt;
}

// Both edges of one pulse in the samples: the SMs' busy time in the first and the last sample says how far it reaches in.
struct SeenPulse {
  double rise, fall;  // raw − origin
};

std::optional<SeenPulse> see(const std::vector<Row>& rows, const Pulse& pulse, double offset, double interval) {
  const double from = pulse.entry_ns - offset - interval / 4, to = pulse.exit_ns - offset + interval / 4;
  auto first =
      std::upper_bound(rows.begin(), rows.end(), from, [](double time, const Row& row) { return time < row.end; });
  if (first == rows.begin() || first == rows.end()) {
    return std::nullopt;
  }
  // Skip samples that it does not reach, forwards to its first and from there to its last.
  const double least = quiet * pulse.level;
  while (first != rows.end() && first->busy <= least && first->start < to) {
    ++first;
  }
  if (first == rows.end() || first->start >= to) {
    return std::nullopt;
  }
  auto last = first;
  for (auto next = last + 1; next != rows.end() && next->busy > least; ++next) {
    if (next->start - last->end > interval / 10 || next->start > to) {
      return std::nullopt;  // a sample is missing, or somebody else's work follows
    }
    last = next;
  }
  // Within one sample it could be anywhere.
  const auto before = first - 1, after = last + 1;
  if (first == last || after == rows.end() || before->busy > least || first->start - before->end > interval / 10 ||
      after->start - last->end > interval / 10) {
    return std::nullopt;
  }
  for (auto inner = first + 1; inner != last; ++inner) {
    if (inner->busy < whole * pulse.level) {
      return std::nullopt;
    }
  }
  const auto busy_time = [&](const Row& row) { return std::min(1.0, row.busy / pulse.level) * (row.end - row.start); };
  // What the quiet neighbours hold is the end of an edge that hardly reaches in.
  const double rise = first->end - busy_time(*first) - busy_time(*before);
  const double fall = last->start + busy_time(*last) + busy_time(*after);
  return SeenPulse{rise, fall};
}

struct Found {
  double excess, offset, rise, fall;
};

}  // namespace

Result<ClockAnchor> fit_pulses(std::span<const MeasuredLoad> samples, const PulseTrain& train, int64_t coarse_offset_ns,
                               int64_t search_ns) {
  const auto timer = timer_offset(train);
  if (!timer) {
    return fail(ErrorKind::unavailable, "no handshake with the GPU came about");
  }
  if (train.pulses.empty() || samples.size() < 8) {
    return fail(ErrorKind::unavailable, "there are no pulses, or no samples of them");
  }
  const int64_t raw_origin_ns = samples.front().start_ns;
  std::vector<Row> rows;
  std::vector<double> lengths;
  for (const MeasuredLoad& sample : samples) {
    if (sample.end_ns > sample.start_ns && !std::isnan(sample.busy)) {
      rows.push_back({static_cast<double>(sample.start_ns - raw_origin_ns),
                      static_cast<double>(sample.end_ns - raw_origin_ns), sample.busy});
      lengths.push_back(rows.back().end - rows.back().start);
    }
  }
  if (rows.size() < 8) {
    return fail(ErrorKind::unavailable, "the samples do not say how busy the SMs were");
  }
  std::ranges::sort(rows, {}, &Row::start);
  const double interval = median(lengths);
  // raw + coarse = CLOCK_MONOTONIC = timer + offset, all less their origins.
  const double guess = static_cast<double>(raw_origin_ns + coarse_offset_ns) - timer->offset;
  const auto rough = rough_offset(rows, train, guess, static_cast<double>(search_ns) + timer->half_width, interval);
  if (!rough) {
    return fail(ErrorKind::unavailable, "the pulses do not show in the samples: other work on the GPU drowned them");
  }

  std::vector<Found> found;
  for (const Pulse& pulse : train.pulses) {
    if (const auto seen = see(rows, pulse, *rough, interval)) {
      const double by_rise = pulse.entry_ns - seen->rise, by_fall = pulse.exit_ns - seen->fall;
      found.push_back({by_rise - by_fall, (by_rise + by_fall) / 2, seen->rise, seen->fall});
    }
  }
  // One that others' work made longer, or cut short, differs from the rest.
  const auto near = [](const std::vector<Found>& all, double Found::* member) {
    std::vector<double> values;
    values.reserve(all.size());
    for (const Found& one : all) {
      values.push_back(one.*member);
    }
    const double centre = median(values);
    return std::pair{centre, std::max(least_scatter, 4 * median_distance(values, centre))};
  };
  for (double Found::* member : {&Found::excess, &Found::offset}) {
    if (!found.empty()) {
      const auto [centre, width] = near(found, member);
      std::erase_if(found, [&](const Found& one) { return std::abs(one.*member - centre) > width; });
    }
  }
  if (found.size() < least_pulses) {
    return fail(ErrorKind::unavailable, fmt::format("only {} of {} pulses could be told from other work on the GPU, or "
                                                    "from what is shorter than a sample",
                                                    found.size(), train.pulses.size()));
  }
  std::vector<double> offsets, excesses;
  double first = INFINITY, last = -INFINITY;
  for (const Found& one : found) {
    offsets.push_back(one.offset);
    excesses.push_back(one.excess);
  }
  // A timer that moves in steps reads half of one too little on average.
  const double offset = median(offsets) + timer->step / 2, unlogged = median(excesses),
               scatter = median_distance(offsets, median(offsets));
  if (std::abs(unlogged) > longest_unlogged) {
    return fail(ErrorKind::unavailable,
                fmt::format("pulses are {:.1f} µs longer in the samples than in their own logs", unlogged / 1e3));
  }
  for (const Pulse& pulse : train.pulses) {
    first = std::min(first, pulse.entry_ns - offset);
    last = std::max(last, pulse.exit_ns - offset);
  }
  first -= std::max(0.0, unlogged);
  last += std::max(0.0, unlogged);
  ClockAnchor anchor;
  const double middle = (first + last) / 2;
  anchor.raw_ns = raw_origin_ns + std::llround(middle);
  // The sum of origins is exact in integers: a double does not hold today's date to the nanosecond.
  anchor.offset_ns = std::llround(offset + timer->offset) - raw_origin_ns;
  anchor.pulses = static_cast<uint32_t>(found.size());
  anchor.bracket_ns = std::llround(2 * timer->half_width);
  anchor.unlogged_ns = std::llround(unlogged);
  anchor.scatter_ns = std::llround(scatter);
  anchor.from_ns = raw_origin_ns + static_cast<int64_t>(std::floor(first));
  anchor.to_ns = raw_origin_ns + static_cast<int64_t>(std::ceil(last));
  // Left open: where in its bracket the handshake is, how much of the unlogged time is at the start, and the mean's own
  // scatter. Errors that are spread evenly within ±h have their median at h ÷ 2, and 95% of them within 0.95 h.
  const double half_width = in_quadrature(timer->half_width, unlogged / 2,
                                          2 * 1.4826 * scatter / std::sqrt(static_cast<double>(found.size())));
  anchor.residual_ns = std::llround(half_width / 2);
  anchor.residual_p95_ns = std::llround(0.95 * half_width);
  return anchor;
}

}  // namespace kvet::clocks
