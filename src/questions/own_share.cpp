// A sample may span more than one set of siblings, solo time included. K's residency is continuous where a sibling comes or goes:
// its blocks stay, and are replaced one by one. So within a sample it is taken to be linear over the time that K runs there: the mean
// is the sample's own, the slope that towards the neighbouring samples' means, limited so that the line stays between
// them (van Leer's monotonised central difference); at K's own first and last sample the slope of the one neighbour there is.
// A sample in which K ran beside one set alone counts whole, as it is.
//
// The interval joins independent errors: the workload's variation (batch means), what the data leave open (in resolved samples
// what is left of the prior, else the range as a uniform distribution; both are taken as common to all samples), a bias of the
// readings, how mixed samples are shared, and the clocks' residual: everything is computed once more with the samples moved by it.
// Where samples are longer than it takes K's residency to change, a line is wrong. So mixed samples are also shared the other way,
// as if K had one rate beside each set (expectation–maximisation finds the rates that explain all samples best): the difference
// counts as two standard errors. And a residency that changes in a step somewhere in the sample, by as much as to the next sample, is
// off by that ÷ √12. Of both counts the part of the set's time that lies in mixed samples, twice it, up to all: with few of
// them, lines of both directions average out.
#include "questions/own_share.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/quadrature.h"
#include "questions/batched_ratio.h"
#include "questions/occupancy_limits.h"

namespace kvet::questions {
namespace {

constexpr size_t sets_shown = 8;
constexpr size_t pieces_looked_at = 64;
constexpr int rounds = 20;
constexpr double open_limit = 0.015;  // of the warp slots
constexpr double mixing_limit = 0.03;
// A bias of a third of the reading's random error: what an H200's counters could hide behind their agreement with known blocks.
constexpr double bias_part = 1.0 / 3;
constexpr double normal_975 = 1.959964;
constexpr double deviation_of_median = 1.4826;  // of a normal error: standard deviation ÷ median absolute one

struct Part {
  uint32_t category;
  double ns;
  double moment;  // ns × its middle, from the start of the sample
};
struct Row {
  const SampleResidency* residency;
  double slots;
  size_t first_part;
  double running_ns;  // K's time in it
  double centre;  // of that time, from the start of the sample
  double slope;  // of the share of the warp slots, per ns
  double change;  // of that share, to the neighbour that differs most; all of it at K's first and last sample
};

class Sharing {
 public:
  Sharing(const Capture& capture, const KernelSet& kernels) : capture_(capture), kernels_(kernels) {
    category({});  // 0: not co-run
  }
  void add(const OwnSource& source, int64_t shift_ns);
  void settle();  // the rates; after all add()
  [[nodiscard]] OwnShare overall() const {
    return share([](uint32_t category) { return category != 0; });
  }
  [[nodiscard]] std::vector<OwnShare> largest() const;
  [[nodiscard]] const std::vector<std::vector<StringId>>& names() const { return names_; }
  [[nodiscard]] OwnShare of(const std::vector<StringId>& siblings) const;

 private:
  void find_slopes(size_t first_row);
  uint32_t category(const std::vector<StringId>& siblings);
  void add_parts(const std::vector<const Execution*>& running, const DeviceTimeline& timeline, int64_t from,
                 int64_t to);
  template <class Wanted>
  OwnShare share(Wanted wanted) const;

  const Capture& capture_;
  const KernelSet& kernels_;
  std::map<std::vector<StringId>, uint32_t> index_;
  std::vector<std::vector<StringId>> names_;  // by category
  std::vector<double> time_, rate_;
  std::vector<Row> rows_;
  std::vector<Part> parts_;
  const DeviceResidency* residency_of_row(size_t row) const;
  std::vector<std::pair<size_t, const DeviceResidency*>> sources_;  // from which row on
};

uint32_t Sharing::category(const std::vector<StringId>& siblings) {
  const auto [at, added] = index_.try_emplace(siblings, static_cast<uint32_t>(names_.size()));
  if (added) {
    names_.push_back(siblings);
    time_.push_back(0);
  }
  return at->second;
}

const DeviceResidency* Sharing::residency_of_row(size_t row) const {
  auto after = std::ranges::upper_bound(sources_, row, {}, &std::pair<size_t, const DeviceResidency*>::first);
  return std::prev(after)->second;
}

void Sharing::add_parts(const std::vector<const Execution*>& running, const DeviceTimeline& timeline, int64_t from,
                        int64_t to) {
  std::vector<int64_t> edges{from, to};
  if (running.size() <= pieces_looked_at) {
    for (const Execution* execution : running) {
      edges.push_back(std::clamp(execution->start_ns, from, to));
      edges.push_back(std::clamp(execution->end_ns, from, to));
    }
    std::ranges::sort(edges);
  }
  const size_t first = parts_.size();
  std::vector<StringId> siblings;
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    if (edges[i + 1] == edges[i]) {
      continue;
    }
    const int64_t middle = edges[i] + (edges[i + 1] - edges[i]) / 2;
    siblings.clear();
    bool own = false;
    for (const Execution* execution : running) {
      if (execution->start_ns <= middle && execution->end_ns > middle) {
        if (kernels_.contains(execution->shape)) {
          own = true;
        } else {
          siblings.push_back(capture_.shapes[execution->shape.value].name);
        }
      }
    }
    if (!own) {
      continue;
    }
    if (!timeline.beside.contains(middle)) {
      siblings.clear();
    }
    std::ranges::sort(siblings);
    siblings.erase(std::unique(siblings.begin(), siblings.end()), siblings.end());
    const uint32_t which = category(siblings);
    const auto ns = static_cast<double>(edges[i + 1] - edges[i]);
    const auto same = std::find_if(parts_.begin() + static_cast<std::ptrdiff_t>(first), parts_.end(),
                                   [&](const Part& part) { return part.category == which; });
    const double moment = ns * static_cast<double>(middle - from);
    if (same != parts_.end()) {
      same->ns += ns;
      same->moment += moment;
    } else {
      parts_.push_back({which, ns, moment});
    }
    time_[which] += ns;
  }
}

void Sharing::add(const OwnSource& source, int64_t shift_ns) {
  sources_.emplace_back(rows_.size(), source.residency);
  const Device& device = capture_.devices[source.timeline->device.value];
  std::vector<const Execution*> executions, running;
  for (const Execution& execution : capture_.executions) {
    if (execution.device == source.timeline->device && execution.end_ns > execution.start_ns) {
      executions.push_back(&execution);
    }
  }
  const auto limits = sm_limits(device);
  const double slots = static_cast<double>(device.multiprocessors) * (limits ? limits->warps : 0);
  size_t next = 0;
  for (const SampleResidency& residency : source.residency->samples) {
    const int64_t from = residency.sample->start_ns + shift_ns, to = residency.sample->end_ns + shift_ns;
    for (; next < executions.size() && executions[next]->start_ns < to; ++next) {
      running.push_back(executions[next]);
    }
    std::erase_if(running, [&](const Execution* execution) { return execution->end_ns <= from; });
    if (residency.own.high <= 0) {
      continue;
    }
    Row row{&residency, slots, parts_.size(), 0, 0, 0, 0};
    add_parts(running, *source.timeline, from, to);
    for (size_t i = row.first_part; i < parts_.size(); ++i) {
      row.running_ns += parts_[i].ns;
      row.centre += parts_[i].moment;
    }
    if (row.running_ns > 0) {
      row.centre /= row.running_ns;
      rows_.push_back(row);
    }
  }
  find_slopes(sources_.back().first);
}

// K's mean share of the slots while it ran in the sample.
double density(const Row& row) {
  const Sample& sample = *row.residency->sample;
  return row.residency->own.warps / row.slots * static_cast<double>(sample.end_ns - sample.start_ns) / row.running_ns;
}

void Sharing::find_slopes(size_t first_row) {
  auto slope_between = [&](const Row& a, const Row& b) -> std::optional<double> {
    const Sample &before = *a.residency->sample, &after = *b.residency->sample;
    if (after.start_ns - before.end_ns > (before.end_ns - before.start_ns) / 2) {
      return std::nullopt;  // not neighbours
    }
    const double distance = static_cast<double>(after.start_ns - before.start_ns) + b.centre - a.centre;
    return distance > 0 ? std::optional{(density(b) - density(a)) / distance} : std::nullopt;
  };
  for (size_t i = first_row; i < rows_.size(); ++i) {
    const auto left = i > first_row ? slope_between(rows_[i - 1], rows_[i]) : std::nullopt;
    const auto right = i + 1 < rows_.size() ? slope_between(rows_[i], rows_[i + 1]) : std::nullopt;
    if (left && right) {
      const double least = std::min({2 * std::abs(*left), 2 * std::abs(*right), std::abs(*left + *right) / 2});
      rows_[i].slope = *left * *right > 0 ? std::copysign(least, *left) : 0;
    } else {
      rows_[i].slope = left.value_or(right.value_or(0));
    }
    const double here = density(rows_[i]);
    rows_[i].change = std::max(left ? std::abs(here - density(rows_[i - 1])) : here,
                               right ? std::abs(density(rows_[i + 1]) - here) : here);
  }
}

void Sharing::settle() {
  rate_.assign(names_.size(), 1);  // shares of the warp slots; all alike at the start
  std::vector<double> sum(names_.size());
  for (int round = 0; round < rounds; ++round) {
    std::ranges::fill(sum, 0.0);
    for (size_t i = 0; i < rows_.size(); ++i) {
      const size_t last = i + 1 < rows_.size() ? rows_[i + 1].first_part : parts_.size();
      double all = 0;
      for (size_t j = rows_[i].first_part; j < last; ++j) {
        all += rate_[parts_[j].category] * parts_[j].ns;
      }
      const double own = density(rows_[i]) * rows_[i].running_ns;
      for (size_t j = rows_[i].first_part; all > 0 && j < last; ++j) {
        sum[parts_[j].category] += own * rate_[parts_[j].category] * parts_[j].ns / all;
      }
    }
    for (size_t which = 0; which < sum.size(); ++which) {
      rate_[which] = time_[which] > 0 ? sum[which] / time_[which] : 0;
    }
  }
}

template <class Wanted>
OwnShare Sharing::share(Wanted wanted) const {
  OwnShare result;
  std::vector<Cluster> series;
  double value = 0, by_rates = 0, steps = 0, low = 0, high = 0, open = 0, reading = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const size_t last = i + 1 < rows_.size() ? rows_[i + 1].first_part : parts_.size();
    double here_ns = 0, moment = 0, here = 0, all = 0;
    for (size_t j = row.first_part; j < last; ++j) {
      all += rate_[parts_[j].category] * parts_[j].ns;
      if (wanted(parts_[j].category)) {
        here += rate_[parts_[j].category] * parts_[j].ns;
        here_ns += parts_[j].ns;
        moment += parts_[j].moment;
      }
    }
    if (here_ns <= 0) {
      continue;
    }
    const OwnResidency& own = row.residency->own;
    const auto length = static_cast<double>(row.residency->sample->end_ns - row.residency->sample->start_ns);
    const double mean = density(row), flat = here_ns / row.running_ns;
    const double line = std::max(0.0, mean + row.slope * (moment / here_ns - row.centre));
    const double part = mean > 0 ? std::min(1.0, line / mean * flat) : flat;
    const double own_ns = own.warps / row.slots * length, high_ns = own.high / row.slots * length;
    series.push_back({own_ns * part, here_ns});
    value += own_ns * part;
    by_rates += own_ns * (all > 0 ? here / all : flat);
    steps += row.change * here_ns * (1 - flat);
    // In a mixed sample nothing but the slots bounds what K had in the other part.
    const double elsewhere_ns = row.running_ns - here_ns;
    low += std::max(0.0, own.low / row.slots * length - elsewhere_ns);
    high += std::min(high_ns, here_ns);
    // own.high is what its blocks can hold at most while K's overlap lasts; the part cannot hold more than the whole.
    const double undecided = (own.high - own.low) / std::sqrt(12.0);
    open += (own.resolved ? own.prior_error : undecided) / row.slots * length * part;
    reading += own.reading_error / row.slots * length * part;
    result.time_ns += here_ns;
    result.resolved_ns += own.resolved ? here_ns : 0;
    result.within_ns += elsewhere_ns <= 0 ? here_ns : 0;
    const SiblingSet& set = residency_of_row(i)->sets[row.residency->set];
    if (set.rank < set.shapes.size() && set.rank < result.least_rank) {
      result.least_rank = set.rank;
      result.shapes = set.shapes.size();
    }
    if (std::isfinite(set.condition)) {
      result.worst_condition = std::max(result.worst_condition, set.condition);
    }
  }
  if (result.time_ns <= 0) {
    return result;
  }
  result.value = value / result.time_ns;
  result.low = low / result.time_ns;
  result.high = high / result.time_ns;
  result.open = open / result.time_ns;
  const double mixed = 1 - result.within_ns / result.time_ns;
  const double disagreement = std::abs(value - by_rates) / result.time_ns / normal_975;
  const double step = steps / result.time_ns / std::sqrt(12.0);
  result.mixing = in_quadrature(disagreement, step) * std::min(1.0, 2 * mixed);
  result.reading = bias_part * reading / result.time_ns;
  if (const auto estimate = batched_ratio(series)) {
    result.batches = estimate->clusters;
    if (estimate->interval) {
      result.statistical = estimate->interval->high - estimate->value;
      result.interval = estimate->interval;  // completed by the caller
    }
  }
  return result;
}

OwnShare Sharing::of(const std::vector<StringId>& siblings) const {
  const auto at = index_.find(siblings);
  if (at == index_.end()) {
    return {};
  }
  OwnShare result = share([&](uint32_t category) { return category == at->second; });
  result.siblings = siblings;
  return result;
}

std::vector<OwnShare> Sharing::largest() const {
  std::vector<uint32_t> order;
  for (uint32_t category = 1; category < names_.size(); ++category) {
    if (time_[category] > 0) {
      order.push_back(category);
    }
  }
  std::ranges::stable_sort(order, std::greater<>{}, [&](uint32_t category) { return time_[category]; });
  order.resize(std::min(order.size(), sets_shown));
  std::vector<OwnShare> result;
  result.reserve(order.size());
  for (uint32_t category : order) {
    result.push_back(of(names_[category]));
  }
  return result;
}

void complete(OwnShare& share, double moved_back, double moved_on) {
  share.clock = std::abs(moved_on - moved_back) / 2;
  if (share.interval) {
    const double other = in_quadrature(share.open, share.mixing, in_quadrature(share.reading, share.clock));
    const double half = in_quadrature(share.statistical, normal_975 * other);
    share.interval = Interval{share.value - half, share.value + half};
  }
}

}  // namespace

bool OwnShare::too_coarse() const { return mixing > mixing_limit; }

bool OwnShare::resolved() const { return time_ns > 0 && open <= open_limit && !too_coarse(); }

OwnShares own_shares(const Capture& capture, const KernelSet& kernels, const std::vector<OwnSource>& devices) {
  auto shared = [&](double deviations) {
    Sharing sharing{capture, kernels};
    for (const OwnSource& source : devices) {
      // guard_ns is three times the median absolute residual.
      const double residual = deviation_of_median * static_cast<double>(source.samples->guard_ns.value_or(0)) / 3;
      sharing.add(source, static_cast<int64_t>(deviations * residual));
    }
    sharing.settle();
    return sharing;
  };
  const Sharing sharing = shared(0);
  OwnShares result;
  result.overall = sharing.overall();
  result.sets = sharing.largest();
  const Sharing back = shared(-1), on = shared(1);
  complete(result.overall, back.overall().value, on.overall().value);
  for (OwnShare& set : result.sets) {
    complete(set, back.of(set.siblings).value, on.of(set.siblings).value);
  }
  return result;
}

}  // namespace kvet::questions
