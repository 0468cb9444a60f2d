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

double time_of(const PathTimes& path, const PathItem& item) {
  const auto found = path.find(item);
  return found == path.end() ? 0 : found->second;
}

// The kernels of the set as one thing.
std::vector<Followed> as_one(const Capture& capture, std::vector<Followed> followed, const KernelSet& kernels) {
  std::set<StringId> names;
  for (const KernelShape& shape : capture.shapes) {
    if (kernels.contains(shape.id)) {
      names.insert(shape.name);
    }
  }
  for (Followed& one : followed) {
    for (PathTimes& path : one.paths) {
      PathTimes merged;
      for (const auto& [item, time] : path) {
        const bool own = item.kind == PathItem::Kind::kernel && names.contains(item.name);
        merged[own ? PathItem{PathItem::Kind::kernel, {}} : item] += time;
      }
      path = std::move(merged);
    }
  }
  return followed;
}

// Of one thing on one rank, step by step.
struct Series {
  std::map<size_t, double> excess, blame;  // by step
};

// By how much sooner the last rank would have come, had one rank spent so much less (or, negative, more).
double earlier(const Followed& one, size_t rank, double less) {
  double next = std::numeric_limits<double>::infinity();  // of the others, behind the last: the least
  for (size_t other = 0; other < one.ranks.size(); ++other) {
    next = other == rank ? next : std::min(next, one.ahead_ns[other]);
  }
  return rank == one.last ? std::min(less, next) : std::min(0.0, less + one.ahead_ns[rank]);
}

void add(const Followed& one, std::map<std::pair<uint32_t, PathItem>, Series>& series) {
  std::set<PathItem> items;
  for (const PathTimes& path : one.paths) {
    for (const auto& [item, time] : path) {
      items.insert(item);
    }
  }
  const double others = static_cast<double>(one.ranks.size()) - 1;
  for (const PathItem& item : items) {
    double all = 0;
    for (const PathTimes& path : one.paths) {
      all += time_of(path, item);
    }
    for (size_t i = 0; i < one.ranks.size(); ++i) {
      const double own = time_of(one.paths[i], item);
      const double more = own * others - (all - own);  // than each of the others, added up
      Series& of = series[{one.ranks[i], item}];
      of.excess[one.step] += more / others;
      of.blame[one.step] += others * earlier(one, i, more / others);
    }
  }
}

// One cluster per step, a step without the thing being a zero.
std::vector<Cluster> in_steps(const std::map<size_t, double>& values, const std::set<size_t>& steps) {
  std::vector<Cluster> clusters;
  for (size_t step : steps) {
    const auto found = values.find(step);
    clusters.push_back({found == values.end() ? 0 : found->second, 1});
  }
  return clusters;
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

std::vector<Followed> follow(const Capture& capture, const NcclAnalysis& analysis) {
  std::map<std::vector<uint32_t>, std::vector<const Matched*>> groups;
  for (const Matched& matched : analysis.matches.collectives) {
    const bool known = std::ranges::all_of(matched.parts, [](const Part& part) { return part.execution.has_value(); });
    if (known && all_depend(matched.parts.front().what)) {
      groups[ranks_of(matched)].push_back(&matched);
    }
  }
  std::vector<Followed> all;
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
      all.push_back(std::move(followed));
    }
  }
  return all;
}

std::vector<Blamed> blame(const Capture& capture, const std::vector<Followed>& followed, double residual_ns,
                          const KernelSet* kernels) {
  const std::vector<Followed> merged =
      kernels != nullptr ? as_one(capture, followed, *kernels) : std::vector<Followed>{};
  const std::vector<Followed>& all = kernels != nullptr ? merged : followed;
  std::map<std::pair<uint32_t, PathItem>, Series> series;
  std::set<size_t> steps;
  size_t others = 0;
  for (const Followed& one : all) {
    add(one, series);
    steps.insert(one.step);
    others += one.ranks.size() - 1;
  }
  constexpr double hopeless = 0.1;  // nobody asks for the interval of what chance explains so easily, but for K's
  std::vector<Blamed> out;
  const PathItem own{PathItem::Kind::kernel, {}};  // K, as as_one() calls it
  for (const auto& [key, of] : series) {
    if (kernels != nullptr && key.second != own) {
      continue;
    }
    Blamed blamed;
    blamed.rank = key.first;
    blamed.item = key.second;
    blamed.steps = steps.size();
    blamed.probability = chance(in_steps(of.excess, steps));
    if (blamed.probability > hopeless && kernels == nullptr) {
      out.push_back(blamed);
      continue;
    }
    const auto estimate = batched_ratio(in_steps(of.blame, steps));
    blamed.per_step_ns = estimate ? estimate->value : 0;
    const Interval interval =
        estimate && estimate->interval ? *estimate->interval : Interval{blamed.per_step_ns, blamed.per_step_ns};
    // The clocks of the waiting ranks are off by the residual, each in its own way, in each collective of a step.
    const double waits_per_step = static_cast<double>(others) / static_cast<double>(steps.size());
    const double clocks = residual_ns * std::sqrt(std::max(1.0, waits_per_step));
    blamed.interval = {std::max(0.0, interval.low - clocks), std::max(0.0, interval.high + clocks)};
    out.push_back(blamed);
  }
  return out;
}

}  // namespace kvet::questions
