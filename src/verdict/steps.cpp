#include "verdict/steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/demangle.h"
#include "base/pattern.h"
#include "base/text.h"

namespace kvet::verdict {
namespace {

bool in_set(const KernelSetDefinition& set, const KernelKey& key) {
  return set.keys.contains(key) || set.keys.contains({key.name, 0});
}

bool launches_set(const RangeActivity& range, const KernelSetDefinition& set) {
  return std::any_of(set.keys.begin(), set.keys.end(),
                     [&](const KernelKey& key) { return range.kernels.contains(key.name); });
}

// Names of ranges that hold in every capture, with the time that they cover in all of them.
std::map<std::string, double> common_ranges(const std::vector<ArmProfile>& captures, const KernelSetDefinition& set) {
  std::map<std::string, double> times;
  for (const auto& [name, activity] : captures.front().profile->ranges) {
    double total = 0;
    bool everywhere = true;
    for (const ArmProfile& capture : captures) {
      auto found = capture.profile->ranges.find(name);
      everywhere = everywhere && found != capture.profile->ranges.end() && found->second.count >= 2 &&
                   launches_set(found->second, set);
      total += everywhere ? found->second.time_ns : 0;
    }
    if (everywhere) {
      times[name] = total;
    }
  }
  return times;
}

Result<StepDefinition> steps_by_pattern(const std::vector<ArmProfile>& captures, const std::string& pattern) {
  StepDefinition definition{StepKind::range, {}, fmt::format("NVTX ranges that match '{}'", printable(pattern))};
  auto expression = Pattern::compile(pattern);
  if (!expression) {
    return std::unexpected(expression.error());
  }
  std::set<std::string> names;
  for (const ArmProfile& capture : captures) {
    bool any = false;
    std::string seen;
    for (const auto& [name, activity] : capture.profile->ranges) {
      if (expression->found_in(name)) {
        names.insert(name);
        any = true;
      } else if (seen.size() < 200) {
        seen += (seen.empty() ? "" : ", ") + printable(name);
      }
    }
    if (!any) {
      return fail(ErrorKind::bad_input, fmt::format("no NVTX range matches step = '{}'", printable(pattern)),
                  capture.profile->path, seen.empty() ? "the window holds no NVTX range" : "ranges seen: " + seen);
    }
  }
  definition.names.assign(names.begin(), names.end());
  return definition;
}

bool graphs_carry_the_set(const std::vector<ArmProfile>& captures, const KernelSetDefinition& set) {
  for (const ArmProfile& capture : captures) {
    double all = 0, graph = 0;
    for (const auto& [key, activity] : capture.profile->kernels) {
      if (in_set(set, key)) {
        all += activity.time_ns;
        graph += activity.graph_time_ns;
      }
    }
    if (graph == 0 || graph < all / 2) {
      return false;
    }
  }
  return true;
}

// A kernel outside the set that every capture runs on a stream of the set: it marks the work done, since program order
// puts it between the set's executions. The most frequent one. Streams of its own run beside the work, not with it.
std::string shared_kernel(const std::vector<ArmProfile>& captures, const KernelSetDefinition& set) {
  std::map<std::string, std::pair<size_t, uint64_t>> seen;  // captures, executions
  for (const ArmProfile& capture : captures) {
    std::set<StreamKey> streams;
    for (const auto& [key, activity] : capture.profile->kernels) {
      if (in_set(set, key)) {
        streams.insert(activity.streams.begin(), activity.streams.end());
      }
    }
    std::map<std::string, uint64_t> here;
    for (const auto& [key, activity] : capture.profile->kernels) {
      bool inside = !activity.streams.empty() &&
                    std::includes(streams.begin(), streams.end(), activity.streams.begin(), activity.streams.end());
      if (inside && !in_set(set, key)) {
        here[key.name] += activity.executions;
      }
    }
    for (const auto& [name, executions] : here) {
      ++seen[name].first;
      seen[name].second += executions;
    }
  }
  std::string best;
  uint64_t most = 0;
  for (const auto& [name, counts] : seen) {
    if (counts.first == captures.size() && counts.second > most) {
      best = name;
      most = counts.second;
    }
  }
  return best;
}

std::string longest_of(const std::vector<ArmProfile>& captures, const KernelSetDefinition& set, Arm arm) {
  std::map<std::string, double> times;
  for (const ArmProfile& capture : captures) {
    if (capture.arm == arm) {
      for (const auto& [key, activity] : capture.profile->kernels) {
        if (in_set(set, key)) {
          times[key.name] += activity.time_ns;
        }
      }
    }
  }
  auto longest = std::max_element(times.begin(), times.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return longest == times.end() ? "" : longest->first;
}

}  // namespace

Result<StepDefinition> choose_steps(const std::vector<ArmProfile>& captures, const KernelSetDefinition& set,
                                    const std::optional<std::string>& pattern) {
  if (pattern) {
    return steps_by_pattern(captures, *pattern);
  }
  auto ranges = common_ranges(captures, set);
  if (!ranges.empty()) {
    // Of ranges inside each other the outermost that repeats: an operator, however often it is called, is no step.
    auto best = std::max_element(ranges.begin(), ranges.end(), [](auto& a, auto& b) { return a.second < b.second; });
    return StepDefinition{StepKind::range, {best->first}, fmt::format("the NVTX range '{}'", printable(best->first))};
  }
  if (graphs_carry_the_set(captures, set)) {
    return StepDefinition{StepKind::graph_launch, {}, "a launch of a graph that contains the kernel set"};
  }
  if (std::string name = shared_kernel(captures, set); !name.empty()) {
    return StepDefinition{StepKind::shared_kernel,
                          {name},
                          fmt::format("an execution of {}, which both arms run in the set's streams",
                                      printable(demangle(name)).substr(0, 60))};
  }
  return StepDefinition{
      StepKind::set_kernel,
      {longest_of(captures, set, Arm::baseline), longest_of(captures, set, Arm::candidate)},
      "an execution of the set's longest-running kernel (no NVTX range, graph or other kernel marks the "
      "work)"};
}

namespace {

std::vector<Step> range_steps(const Capture& capture, const StepDefinition& definition, const Window& window,
                              const LaunchIndex& launches) {
  std::unordered_map<uint32_t, bool> wanted;
  std::vector<Step> steps;
  std::vector<int32_t> threads;
  for (const Range& range : capture.ranges) {
    auto [entry, added] = wanted.try_emplace(range.name.value);
    if (added) {
      entry->second = std::find(definition.names.begin(), definition.names.end(),
                                collapsed_range_name(capture.text(range.name))) != definition.names.end();
    }
    if (entry->second && window.contains(range.start_ns)) {
      steps.push_back({range.process.value, range.start_ns, range.end_ns});
      threads.push_back(range.thread_id);
    }
  }
  // A range ends on the host; its work ends with the last execution that was launched in it.
  struct Track {
    std::vector<size_t> steps;  // by start
  };
  std::map<std::pair<uint32_t, int32_t>, Track> tracks;
  for (size_t i = 0; i < steps.size(); ++i) {
    tracks[{steps[i].process, threads[i]}].steps.push_back(i);
  }
  std::vector<int64_t> host_end(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    host_end[i] = steps[i].end;
  }
  for (const Execution& execution : capture.executions) {
    const ApiCall* call = launches.find(execution.process, execution.correlation_id);
    auto track = call == nullptr ? tracks.end() : tracks.find({execution.process.value, call->thread_id});
    if (track == tracks.end()) {
      continue;
    }
    const auto& list = track->second.steps;
    auto after = std::upper_bound(list.begin(), list.end(), call->start_ns,
                                  [&](int64_t time, size_t step) { return time < steps[step].start; });
    if (after != list.begin() && call->start_ns < host_end[*(after - 1)]) {
      Step& step = steps[*(after - 1)];
      step.end = std::max(step.end, execution.end_ns);
    }
  }
  return steps;
}

std::vector<Step> graph_steps(const Capture& capture, const questions::KernelSet& set, const Window& window) {
  struct Replay {
    Step step;
    bool has_set = false;
  };
  std::map<std::pair<uint32_t, uint32_t>, Replay> replays;
  auto extend = [&](ProcessId process, uint32_t correlation, int64_t start, int64_t end, bool has_set) {
    auto [entry, added] = replays.try_emplace({process.value, correlation});
    Replay& replay = entry->second;
    replay.step = added ? Step{process.value, start, end}
                        : Step{process.value, std::min(replay.step.start, start), std::max(replay.step.end, end)};
    replay.has_set = replay.has_set || has_set;
  };
  for (const Execution& execution : capture.executions) {
    if (execution.graph_node_id != 0) {
      extend(execution.process, execution.correlation_id, execution.start_ns, execution.end_ns,
             set.contains(execution.shape));
    }
  }
  for (const Transfer& transfer : capture.transfers) {
    if (transfer.graph_node_id != 0) {
      extend(transfer.process, transfer.correlation_id, transfer.start_ns, transfer.end_ns, false);
    }
  }
  std::vector<Step> steps;
  for (const auto& [key, replay] : replays) {
    if (replay.has_set && window.contains(replay.step.start)) {
      steps.push_back(replay.step);
    }
  }
  return steps;
}

std::vector<Step> kernel_steps(const Capture& capture, const std::string& name, const Window& window) {
  std::vector<Step> steps;
  for (const Execution& execution : capture.executions) {
    if (window.contains(execution.start_ns) && capture.kernel_name(execution.shape) == name) {
      steps.push_back({execution.process.value, execution.start_ns, execution.end_ns});
    }
  }
  return steps;
}

}  // namespace

std::vector<Step> find_steps(const Capture& capture, Arm arm, const StepDefinition& definition,
                             const questions::KernelSet& set, const Window& window, const LaunchIndex& launches) {
  std::vector<Step> steps;
  switch (definition.kind) {
    case StepKind::range: steps = range_steps(capture, definition, window, launches); break;
    case StepKind::graph_launch: steps = graph_steps(capture, set, window); break;
    case StepKind::shared_kernel: steps = kernel_steps(capture, definition.names.front(), window); break;
    case StepKind::set_kernel:
      steps = kernel_steps(capture, definition.names.at(static_cast<size_t>(arm)), window);
      break;
  }
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.start < b.start; });
  return steps;
}

}  // namespace kvet::verdict
