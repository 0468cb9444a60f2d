#include "clocks/window_fit.h"

#include <algorithm>
#include <cmath>

#include "clocks/robust.h"

namespace kvet::clocks {
namespace {

// A channel is of use where it varies by this much (of its full scale) between quiet and busy samples.
constexpr double least_contrast = 0.1;

double spread(const std::vector<double>& values) {
  return values.empty() ? 0 : quantile(values, 0.98) - quantile(values, 0.02);
}

}  // namespace

WindowFit::WindowFit(std::span<const MeasuredLoad> samples, std::span<const ExpectedLoad> executions,
                     int64_t coarse_offset_ns, int64_t from_ns, int64_t to_ns, int64_t search_ns)
    : origin_ns_(from_ns) {
  bool warps_known = !executions.empty(), busy_known = true;
  for (const ExpectedLoad& execution : executions) {
    const auto start = static_cast<double>(execution.start_ns - origin_ns_);
    const auto end = static_cast<double>(execution.end_ns - origin_ns_);
    busy_.add_rate(start, end, execution.busy);
    if (std::isnan(execution.warps_at_start)) {
      warps_known = false;
      continue;
    }
    warps_.add_jump(start, execution.warps_at_start);
    if (execution.warps_later > 0 && end > start) {
      warps_.add_rate(start, end, execution.warps_later / (end - start));
    }
  }
  busy_.finish(1);
  warps_.finish(INFINITY);

  std::vector<double> lengths, busy, warps, positive_warps;
  for (const MeasuredLoad& sample : samples) {
    const int64_t start_ns = sample.start_ns + coarse_offset_ns, end_ns = sample.end_ns + coarse_offset_ns;
    if (end_ns <= start_ns || start_ns < from_ns + search_ns || end_ns > to_ns - search_ns) {
      continue;
    }
    busy_known = busy_known && !std::isnan(sample.busy);
    warps_known = warps_known && !std::isnan(sample.warps);
    samples_.push_back({static_cast<double>(start_ns - origin_ns_), static_cast<double>(end_ns - origin_ns_),
                        sample.busy, sample.warps});
    lengths.push_back(samples_.back().end - samples_.back().start);
    busy.push_back(sample.busy);
    warps.push_back(sample.warps);
    if (sample.warps > 0) {
      positive_warps.push_back(sample.warps);
    }
  }
  std::sort(samples_.begin(), samples_.end(), [](const Row& a, const Row& b) { return a.start < b.start; });
  if (samples_.size() < 20 || busy_.empty()) {
    return;
  }
  interval_ns_ = median(lengths);

  // What the executions predict for these samples, at the coarse offset: an error of a few ms hardly changes how much
  // it varies.
  std::vector<double> expected_busy, expected_warps, full;
  size_t hint = 0, warp_hint = 0;
  for (const Row& row : samples_) {
    const double before = busy_.at(row.start, hint);
    expected_busy.push_back((busy_.at(row.end, hint) - before) / (row.end - row.start));
    const double warps_before = warps_.at(row.start, warp_hint);
    expected_warps.push_back(warps_.at(row.end, warp_hint) - warps_before);
    if (busy_known && row.busy > 0.02) {
      full.push_back(row.busy);
    }
  }
  if (busy_known) {
    // SMs idle in the tails of kernels, so a device that is busy throughout reads below what the shapes say.
    const double busy_level = full.empty() ? 1 : quantile(full, 0.9);
    const double expected_level = std::max(0.02, quantile(expected_busy, 0.9));
    gain_ = std::clamp(busy_level / expected_level, 0.05, 1.5);
    use_busy_ = spread(busy) > least_contrast * busy_level && spread(expected_busy) > least_contrast * expected_level;
  }
  if (warps_known && !positive_warps.empty()) {
    typical_warps_ = std::max(1.0, median(positive_warps));
    std::vector<double> measured, expected;
    for (size_t i = 0; i < samples_.size(); ++i) {
      measured.push_back(squash(warps[i]));
      expected.push_back(squash(expected_warps[i]));
    }
    use_warps_ = spread(measured) > least_contrast && spread(expected) > least_contrast;
  }
}

template <class Take>
void WindowFit::for_each(double offset_ns, size_t part, size_t parts, Take&& take) const {
  size_t hint = 0, warp_hint = 0;
  const size_t to = samples_.size() * (part + 1) / parts;
  for (size_t i = samples_.size() * part / parts; i < to; ++i) {
    const Row& row = samples_[i];
    double cost = 0;
    const double start = row.start + offset_ns, end = row.end + offset_ns;
    if (use_busy_) {
      const double before = busy_.at(start, hint);
      cost += std::abs(row.busy / gain_ - (busy_.at(end, hint) - before) / (end - start));
    }
    if (use_warps_) {
      const double before = warps_.at(start, warp_hint);
      cost += std::abs(squash(row.warps) - squash(warps_.at(end, warp_hint) - before));
    }
    take(cost);
  }
}

double WindowFit::cost_of(double offset_ns, size_t part, size_t parts) const {
  double sum = 0;
  for_each(offset_ns, part, parts, [&](double one) { sum += one; });
  return sum;
}

double WindowFit::cost(double offset_ns) const { return cost_of(offset_ns, 0, 1); }

void WindowFit::costs(double offset_ns, std::vector<double>& out) const {
  out.clear();
  for_each(offset_ns, 0, 1, [&](double one) { out.push_back(one); });
}

double WindowFit::minimum_of(double middle_ns, double reach_ns, size_t part, size_t parts) const {
  // The sum of absolute differences has one minimum per edge near the right one, so it is scanned, ever finer, down to
  // a hundredth of an interval.
  double best = middle_ns, best_cost = cost_of(middle_ns, part, parts);
  double reach = reach_ns;
  while (reach > interval_ns_ / 100) {
    const double middle = best, step = reach / 5;
    for (int i = -5; i <= 5; ++i) {
      const double offset = middle + i * step;
      if (const double here = cost_of(offset, part, parts); here < best_cost) {
        best = offset;
        best_cost = here;
      }
    }
    reach = step;
  }
  return best;
}

double WindowFit::part_minimum(double middle_ns, double reach_ns, size_t part, size_t parts) const {
  const double best = minimum_of(middle_ns, reach_ns, part, parts);
  const double there = cost_of(best, part, parts);
  // A minimum at the rim, or one that is hardly better than its surroundings, is none.
  const double rim = std::min(cost_of(middle_ns - reach_ns, part, parts), cost_of(middle_ns + reach_ns, part, parts));
  const bool inside = std::abs(best - middle_ns) < 0.95 * reach_ns;
  return inside && rim - there > 0.2 ? best : std::nan("");
}

double WindowFit::part_middle_ns(size_t part, size_t parts) const {
  const Row& row = samples_[samples_.size() * (2 * part + 1) / (2 * parts)];
  return (row.start + row.end) / 2;
}

std::vector<Edge> WindowFit::edges(double offset_ns) const {
  std::vector<Edge> found;
  if (!use_busy_) {
    return found;
  }
  size_t hint = 0, rate_hint = 0;
  for (size_t i = 1; i + 1 < samples_.size(); ++i) {
    const Row& row = samples_[i];
    const double start = row.start + offset_ns, end = row.end + offset_ns, length = end - start;
    const double before = busy_.at(start, hint);
    const double expected = (busy_.at(end, hint) - before) / length;
    const double rate_before = busy_.rate_at(start, rate_hint), rate_after = busy_.rate_at(end, rate_hint);
    const bool rising = rate_before == 0 && rate_after > 0.3;
    const bool falling = rate_after == 0 && rate_before > 0.3;
    if (!rising && !falling) {
      continue;
    }
    // Only edges with a quiet side: the sample there reads idle, and the one on the busy side says what busy looks like.
    const Row& quiet = rising ? samples_[i - 1] : samples_[i + 1];
    const Row& busy = rising ? samples_[i + 1] : samples_[i - 1];
    const bool neighbours =
        samples_[i - 1].end + length / 2 > row.start && row.end + length / 2 > samples_[i + 1].start;
    const double level = rising ? rate_after : rate_before;
    size_t side_hint = 0;
    const double busy_before = busy_.at(busy.start + offset_ns, side_hint);
    const double expected_busy = (busy_.at(busy.end + offset_ns, side_hint) - busy_before) / (busy.end - busy.start);
    if (!neighbours || quiet.busy / gain_ > 0.02 || expected_busy < 0.95 * level || busy.busy < 0.05) {
      continue;
    }
    const double measured = std::min(1.0, row.busy / busy.busy) * level;
    const double error = (expected - measured) * length / level;
    found.push_back({start + length / 2, rising ? -error : error, rising});
  }
  return found;
}

}  // namespace kvet::clocks
