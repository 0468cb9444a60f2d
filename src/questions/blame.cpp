#include "questions/blame.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "questions/batched_ratio.h"
#include "questions/nccl_statistics.h"

namespace kvet::questions {
namespace {

std::vector<uint32_t> ranks_of(const Matched& matched) {
  std::vector<uint32_t> ranks;
  for (const Part& part : matched.parts) {
    ranks.push_back(part.rank);
  }
  return ranks;
}

int64_t latest_start(const Matched& matched) {
  return std::ranges::max_element(matched.parts, {}, &Part::start_ns)->start_ns;
}

// A kernel that ran beside a collective on one rank is not comparable on any: the collective slowed it.
void level(std::vector<PathTimes>& paths) {
  std::set<StringId> beside;
  for (const PathTimes& path : paths) {
    for (const auto& [item, time] : path) {
      if (item.kind == PathItem::Kind::beside_collective) {
        beside.insert(item.name);
      }
    }
  }
  for (PathTimes& path : paths) {
    for (StringId name : beside) {
      if (const auto own = path.find({PathItem::Kind::kernel, name}); own != path.end()) {
        path[{PathItem::Kind::beside_collective, name}] += own->second;
        path.erase(own);
      }
    }
  }
}

// By how much sooner the last rank would have come, had one rank spent so much less (or, negative, more).
double earlier(const Followed& one, size_t rank, double less) {
  double next = std::numeric_limits<double>::infinity();  // of the others, behind the last: the least
  for (size_t other = 0; other < one.ranks.size(); ++other) {
    next = other == rank ? next : std::min(next, one.ahead_ns[other]);
  }
  return rank == one.last ? std::min(less, next) : std::min(0.0, less + one.ahead_ns[rank]);
}

// P(so much or more) if there were no difference.
double chance(const std::vector<Cluster>& excess) {
  double sum = 0;
  for (const Cluster& step : excess) {
    sum += step.numerator;
  }
  if (!(sum > 0)) {
    return 1;
  }
  const auto estimate = batched_ratio(excess);
  if (!estimate || !(estimate->value > 0) || estimate->clusters < 2) {
    return 1;
  }
  return estimate->standard_error > 0
             ? t_upper_tail(estimate->value / estimate->standard_error, static_cast<double>(estimate->clusters) - 1)
             : 0;
}

}  // namespace

void follow(const Capture& capture, const NcclAnalysis& analysis, const std::function<void(const Followed&)>& visit) {
  std::map<std::vector<uint32_t>, std::vector<const Matched*>> groups;
  for (const Matched& matched : analysis.matches.collectives) {
    const bool known = std::ranges::all_of(matched.parts, [](const Part& part) { return part.execution.has_value(); });
    if (known && all_depend(matched.parts.front().what)) {
      groups[ranks_of(matched)].push_back(&matched);
    }
  }
  for (auto& [ranks, group] : groups) {
    std::ranges::stable_sort(group, {}, [](const Matched* one) { return latest_start(*one); });
    for (size_t index = 1; index < group.size(); ++index) {
      const Matched &before = *group[index - 1], &now = *group[index];
      Followed followed;
      followed.ranks = ranks;
      bool apart = true;  // one after the other on every rank
      const int64_t latest = latest_start(now);
      for (size_t i = 0; i < now.parts.size(); ++i) {
        const Part &part = now.parts[i], &left = before.parts[i];
        apart = apart && left.end_ns - left.shift_ns <= part.start_ns - part.shift_ns;
        followed.last = part.start_ns == latest ? i : followed.last;
        followed.ahead_ns.push_back(static_cast<double>(latest - part.start_ns));
        followed.waited_ns += static_cast<double>(std::max<int64_t>(0, std::min(part.end_ns, latest) - part.start_ns));
      }
      const auto step = analysis.step_of(capture, ranks.front(), *now.parts.front().execution);
      if (!apart || (!step && analysis.steps.by != Steps::By::none)) {
        continue;
      }
      followed.step = step.value_or(index);
      for (size_t i = 0; i < now.parts.size(); ++i) {
        followed.paths.push_back(
            analysis.work[ranks[i]].path(*now.parts[i].execution, before.parts[i].end_ns - before.parts[i].shift_ns));
      }
      level(followed.paths);
      visit(followed);
    }
  }
}

BlameSums::BlameSums(const Capture& capture, const KernelSet* kernels) : only_kernels_(kernels != nullptr) {
  for (const KernelShape& shape : capture.shapes) {
    if (kernels != nullptr && kernels->contains(shape.id)) {
      names_.insert(shape.name);
    }
  }
}

void BlameSums::add(const Followed& one) {
  ++steps_[one.step];
  waits_ += one.ranks.size() - 1;
  waited_ns_ += one.waited_ns;
  std::map<PathItem, std::vector<double>> times;  // by rank
  for (size_t i = 0; i < one.paths.size(); ++i) {
    for (const auto& [item, time] : one.paths[i]) {
      const bool own = item.kind == PathItem::Kind::kernel && names_.contains(item.name);
      if (only_kernels_ && !own) {
        continue;
      }
      auto& of = times[only_kernels_ ? PathItem{PathItem::Kind::kernel, {}} : item];
      of.resize(one.paths.size());
      of[i] += time;
    }
  }
  for (const auto& [item, of] : times) {
    add(one, item, of);
  }
}

void BlameSums::add(const Followed& one, const PathItem& item, const std::vector<double>& times) {
  const double others = static_cast<double>(one.ranks.size()) - 1;
  double all = 0;
  for (double time : times) {
    all += time;
  }
  for (size_t i = 0; i < one.ranks.size(); ++i) {
    const double more = times[i] - (all - times[i]) / others;
    Series& of = series_[{one.ranks[i], item}];
    of.excess.emplace_back(one.step, more);
    of.blame.emplace_back(one.step, others * earlier(one, i, more));
    // Collectives come by time, so those of a step mostly follow each other.
    for (Values* values : {&of.excess, &of.blame}) {
      if (const size_t size = values->size(); size > 1 && (*values)[size - 2].first == one.step) {
        (*values)[size - 2].second += values->back().second;
        values->pop_back();
      }
    }
  }
}

double BlameSums::waited_per_step() const {
  return steps_.empty() ? 0 : waited_ns_ / static_cast<double>(steps_.size());
}

// One cluster per step, a step without the thing being a zero.
std::vector<Cluster> BlameSums::in_steps(const Values& values) const {
  Values sorted = values;
  std::ranges::stable_sort(sorted, {}, &Values::value_type::first);
  std::vector<Cluster> clusters;
  clusters.reserve(steps_.size());
  auto value = sorted.begin();
  for (const auto& [step, count] : steps_) {
    Cluster cluster{0, 1};
    for (; value != sorted.end() && value->first == step; ++value) {
      cluster.numerator += value->second;
    }
    clusters.push_back(cluster);
  }
  return clusters;
}

std::vector<Blamed> BlameSums::result(double residual_ns) const {
  constexpr double hopeless = 0.1;  // nobody asks for the interval of what chance explains so easily, but for K's
  std::vector<Blamed> out;
  for (const auto& [key, of] : series_) {
    Blamed blamed;
    blamed.rank = key.first;
    blamed.item = key.second;
    blamed.steps = steps_.size();
    blamed.probability = chance(in_steps(of.excess));
    if (blamed.probability > hopeless && !only_kernels_) {
      out.push_back(blamed);
      continue;
    }
    const auto estimate = batched_ratio(in_steps(of.blame));
    blamed.per_step_ns = estimate ? estimate->value : 0;
    const Interval interval =
        estimate && estimate->interval ? *estimate->interval : Interval{blamed.per_step_ns, blamed.per_step_ns};
    // The clocks of the waiting ranks are off by the residual, each in its own way, in each collective of a step.
    const double waits_per_step = static_cast<double>(waits_) / static_cast<double>(steps_.size());
    const double clocks = residual_ns * std::sqrt(std::max(1.0, waits_per_step));
    blamed.interval = {std::max(0.0, interval.low - clocks), std::max(0.0, interval.high + clocks)};
    out.push_back(blamed);
  }
  return out;
}

}  // namespace kvet::questions
