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
  bool warps_known = !executions.empty(), blocks_known = warps_known, busy_known = true;
  for (const ExpectedLoad& execution : executions) {
    const auto start = static_cast<double>(execution.start_ns - origin_ns_);
    const auto end = static_cast<double>(execution.end_ns - origin_ns_);
    busy_.add_rate(start, end, execution.busy);
    if (std::isnan(execution.warps_at_start) || std::isnan(execution.blocks_at_end)) {
      warps_known = blocks_known = false;
      continue;
    }
    warps_.expected.add_jump(start, execution.warps_at_start);
    blocks_.expected.add_jump(end, execution.blocks_at_end);
    if (end > start) {
      warps_.expected.add_rate(start, end, execution.warps_later / (end - start));
      blocks_.expected.add_rate(start, end, execution.blocks_earlier / (end - start));
    }
  }
  busy_.finish(1);
  warps_.expected.finish(INFINITY);
  blocks_.expected.finish(INFINITY);

  std::vector<double> lengths, busy;
  for (const MeasuredLoad& sample : samples) {
    const int64_t start_ns = sample.start_ns + coarse_offset_ns, end_ns = sample.end_ns + coarse_offset_ns;
    if (end_ns <= start_ns || start_ns < from_ns + search_ns || end_ns > to_ns - search_ns) {
      continue;
    }
    busy_known = busy_known && !std::isnan(sample.busy);
    warps_known = warps_known && !std::isnan(sample.warps);
    blocks_known = blocks_known && !std::isnan(sample.blocks);
    samples_.push_back({static_cast<double>(start_ns - origin_ns_), static_cast<double>(end_ns - origin_ns_),
                        sample.busy, sample.warps, sample.blocks});
    lengths.push_back(samples_.back().end - samples_.back().start);
    busy.push_back(sample.busy);
  }
  std::sort(samples_.begin(), samples_.end(), [](const Row& a, const Row& b) { return a.start < b.start; });
  if (samples_.size() < 20 || busy_.empty()) {
    return;
  }
  interval_ns_ = median(lengths);

  // What the executions predict for these samples, at the coarse offset: an error of a few ms hardly changes how much
  // it varies.
  std::vector<double> expected_busy, full;
  size_t hint = 0;
  for (const Row& row : samples_) {
    const double before = busy_.at(row.start, hint);
    expected_busy.push_back((busy_.at(row.end, hint) - before) / (row.end - row.start));
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
  if (warps_known) {
    judge(warps_, &Row::warps);
  }
  if (blocks_known) {
    judge(blocks_, &Row::blocks);
  }
}

// Whether a flow varies on both sides.
void WindowFit::judge(Flow& flow, double Row::* measured) {
  std::vector<double> positive;
  for (const Row& row : samples_) {
    if (row.*measured > 0) {
      positive.push_back(row.*measured);
    }
  }
  if (positive.empty()) {
    return;
  }
  flow.typical = std::max(1.0, median(positive));
  std::vector<double> seen, expected;
  size_t hint = 0;
  for (const Row& row : samples_) {
    seen.push_back(flow.squash(row.*measured));
    const double before = flow.expected.at(row.start, hint);
    expected.push_back(flow.squash(flow.expected.at(row.end, hint) - before));
  }
  flow.used = spread(seen) > least_contrast && spread(expected) > least_contrast;
}

template <class Take>
void WindowFit::for_each(double offset_ns, const Selection& selection, Take&& take) const {
  size_t hint = 0, warp_hint = 0, block_hint = 0;
  const auto flow_cost = [](const Flow& flow, double seen, double start, double end, size_t& flow_hint) {
    const double before = flow.expected.at(start, flow_hint);
    return std::abs(flow.squash(seen) - flow.squash(flow.expected.at(end, flow_hint) - before));
  };
  const bool everything = selection.channel == Channel::everything;
  const bool busy = use_busy_ && everything;
  const bool warps = warps_.used && (everything || selection.channel == Channel::warps_launched);
  // Blocks end one by one where they begin all at once, so of the whole load their ends are the part that is modelled
  // worst (on an H200, five kernels at a time, they hid the right offset): only where there is nothing else.
  const bool ends_alone = !use_busy_ && !warps_.used;
  const bool blocks = blocks_.used && (everything ? ends_alone : selection.channel == Channel::blocks_completed);
  const size_t to = samples_.size() * (selection.part + 1) / selection.parts;
  for (size_t i = samples_.size() * selection.part / selection.parts; i < to; ++i) {
    const Row& row = samples_[i];
    double cost = 0;
    const double start = row.start + offset_ns, end = row.end + offset_ns;
    if (busy) {
      const double before = busy_.at(start, hint);
      cost += std::abs(row.busy / gain_ - (busy_.at(end, hint) - before) / (end - start));
    }
    if (warps) {
      cost += flow_cost(warps_, row.warps, start, end, warp_hint);
    }
    if (blocks) {
      cost += flow_cost(blocks_, row.blocks, start, end, block_hint);
    }
    take(cost);
  }
}

double WindowFit::cost_of(double offset_ns, const Selection& selection) const {
  double sum = 0;
  for_each(offset_ns, selection, [&](double one) { sum += one; });
  return sum;
}

double WindowFit::cost(double offset_ns) const { return cost_of(offset_ns, {}); }

void WindowFit::costs(double offset_ns, std::vector<double>& out) const {
  out.clear();
  for_each(offset_ns, {}, [&](double one) { out.push_back(one); });
}

double WindowFit::minimum_of(double middle_ns, double reach_ns, const Selection& selection, double grain) const {
  // The sum of absolute differences has one minimum per edge near the right one, so it is scanned, ever finer, down to
  // `grain` intervals.
  double best = middle_ns, best_cost = cost_of(middle_ns, selection);
  double reach = reach_ns;
  while (reach > interval_ns_ * grain) {
    // Counts change only where an event crosses the border of a sample, so a minimum may be flat: then its middle.
    const double middle = best, step = reach / 5;
    double first = best, last = best;
    for (int i = -5; i <= 5; ++i) {
      const double offset = middle + i * step;
      const double here = cost_of(offset, selection);
      if (here < best_cost) {
        best_cost = here;
        first = last = offset;
      } else if (here == best_cost) {
        first = std::min(first, offset);
        last = std::max(last, offset);
      }
    }
    best = (first + last) / 2;
    if (cost_of(best, selection) > best_cost) {
      best = first;  // two minima, not one that is flat
    }
    reach = step;
  }
  return best;
}

double WindowFit::part_minimum(double middle_ns, double reach_ns, size_t part, size_t parts, Channel channel) const {
  if ((channel == Channel::warps_launched && !warps_.used) || (channel == Channel::blocks_completed && !blocks_.used)) {
    return std::nan("");
  }
  const Selection selection{part, parts, channel};
  const double best = minimum_of(middle_ns, reach_ns, selection, channel == Channel::everything ? 0.01 : 0.002);
  const double there = cost_of(best, selection);
  // A minimum at the rim, or one that is hardly better than its surroundings, is none.
  const double rim = std::min(cost_of(middle_ns - reach_ns, selection), cost_of(middle_ns + reach_ns, selection));
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
    // A kernel whose blocks end one by one reads less and less: what it begins with is what its shape says.
    const double measured = std::min(1.0, row.busy / std::max(busy.busy, level * std::min(1.0, gain_))) * level;
    const double error = (expected - measured) * length / level;
    found.push_back({start + length / 2, rising ? -error : error, rising});
  }
  return found;
}

}  // namespace kvet::clocks
