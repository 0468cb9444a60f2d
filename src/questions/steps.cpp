#include "questions/steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/pattern.h"
#include "questions/nccl_parts.h"
#include "questions/streams.h"

namespace kvet::questions {
namespace {

constexpr size_t least_steps = 4;
constexpr double alike_enough = 0.95;
// A sequence is judged by its end, where start-up is over, and by so much of it.
constexpr size_t judged = 8192, longest_period = 2048;
// Graphs make the steps where they hold at least so much of the kernels' time.
constexpr double graphs_matter = 0.5;

// "step 17" and "step 18" are one name: "step #".
std::string without_numbers(const std::string& name) {
  std::string out;
  for (char letter : name) {
    const bool digit = letter >= '0' && letter <= '9';
    if (!digit) {
      out += letter;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

struct Named {
  std::map<uint32_t, std::vector<Span>> spans;
  double time_ns = 0;
  bool usable = true;
};

// Ranges of one name that neither overlap nor lie in each other, in every process that has them.
void judge(Named& named) {
  size_t most = 0;
  for (auto& [process, spans] : named.spans) {
    std::ranges::sort(spans, {}, [](const Span& span) { return std::pair{span.from, span.to}; });
    for (size_t i = 0; i < spans.size(); ++i) {
      named.usable = named.usable && (i == 0 || spans[i].from >= spans[i - 1].to);
      named.time_ns += static_cast<double>(spans[i].to) - static_cast<double>(spans[i].from);
    }
    most = std::max(most, spans.size());
  }
  named.usable = named.usable && most >= least_steps;
}

std::optional<Steps> by_ranges(const Capture& capture, const std::string& pattern) {
  std::map<std::string, Named> names;
  std::optional<Pattern> wanted;
  if (!pattern.empty()) {
    auto compiled = Pattern::compile(pattern);
    if (!compiled) {
      return std::nullopt;
    }
    wanted.emplace(std::move(*compiled));
  }
  for (const Range& range : capture.ranges) {
    const std::string& name = capture.text(range.name);
    if (!wanted || wanted->found_in(name)) {
      names[wanted ? pattern : without_numbers(name)].spans[range.process.value].push_back(
          {range.start_ns, range.end_ns});
    }
  }
  const std::pair<const std::string, Named>* best = nullptr;
  for (auto& entry : names) {
    judge(entry.second);
    if (entry.second.usable && (best == nullptr || entry.second.time_ns > best->second.time_ns)) {
      best = &entry;
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  return Steps{Steps::By::ranges, fmt::format("NVTX range \"{}\"", best->first), true, best->second.spans};
}

// Every `period`-th of these times begins a step.
std::vector<Span> cut(const std::vector<int64_t>& times, size_t period) {
  std::vector<Span> spans;
  for (size_t i = 0; i < times.size(); i += period) {
    const size_t next = i + period;
    const int64_t end = next < times.size() ? times[next] : std::numeric_limits<int64_t>::max();
    if (end > times[i]) {
      spans.push_back({times[i], end});
    }
  }
  return spans;
}

struct Sequence {
  std::vector<int64_t> times;
  std::vector<uint32_t> what;
};

// All processes by one period: the ranks of a job do the same.
std::optional<Steps> by_period(Steps::By by, const char* what, bool host_time,
                               const std::map<uint32_t, Sequence>& sequences) {
  const Sequence* longest = nullptr;
  for (const auto& [process, sequence] : sequences) {
    longest = longest == nullptr || sequence.what.size() > longest->what.size() ? &sequence : longest;
  }
  const auto period = longest != nullptr ? period_of(longest->what) : std::nullopt;
  if (!period) {
    return std::nullopt;
  }
  Steps steps{
      by, *period == 1 ? fmt::format("every {}", what) : fmt::format("every {} {}s", *period, what), host_time, {}};
  for (const auto& [process, sequence] : sequences) {
    steps.spans[process] = cut(sequence.times, *period);
  }
  return steps;
}

std::optional<Steps> by_graph_launches(const Capture& capture) {
  std::unordered_map<uint64_t, uint32_t> graph_of;  // by correlation
  double in_graphs = 0, all = 0;
  for (const Execution& execution : capture.executions) {
    const double time = static_cast<double>(execution.end_ns) - static_cast<double>(execution.start_ns);
    all += time;
    if (execution.graph_node_id != 0) {
      in_graphs += time;
      graph_of.emplace(correlation_key(execution.process, execution.correlation_id), execution.graph_id);
    }
  }
  if (!(in_graphs >= graphs_matter * all)) {
    return std::nullopt;
  }
  std::map<uint32_t, Sequence> sequences;
  for (const ApiCall& call : capture.api_calls) {
    const auto graph = call.kind == ApiKind::launch_graph
                           ? graph_of.find(correlation_key(call.process, call.correlation_id))
                           : graph_of.end();
    if (graph != graph_of.end()) {
      sequences[call.process.value].times.push_back(call.start_ns);
      sequences[call.process.value].what.push_back(graph->second);
    }
  }
  return by_period(Steps::By::graph_launches, "graph launch", true, sequences);
}

// Kernels that `wanted` wants, by name, on the device that ran most of them.
template <class Wanted>
std::map<uint32_t, Sequence> kernels_in_order(const Capture& capture, Wanted wanted) {
  std::map<std::pair<uint32_t, uint32_t>, size_t> counts;
  for (const Execution& execution : capture.executions) {
    counts[{execution.process.value, execution.device.value}] += wanted(execution.shape) ? 1 : 0;
  }
  std::map<uint32_t, std::pair<size_t, uint32_t>> busiest;  // by process: count, device
  for (const auto& [key, count] : counts) {
    auto& best = busiest[key.first];
    best = std::max(best, std::pair{count, key.second});
  }
  std::map<uint32_t, Sequence> sequences;
  for (const Execution& execution : capture.executions) {
    if (wanted(execution.shape) && busiest[execution.process.value].second == execution.device.value) {
      Sequence& sequence = sequences[execution.process.value];
      sequence.times.push_back(execution.start_ns);
      sequence.what.push_back(capture.shapes[execution.shape.value].name.value);
    }
  }
  return sequences;
}

}  // namespace

size_t Steps::count() const {
  size_t most = 0;
  for (const auto& [process, of_process] : spans) {
    most = std::max(most, of_process.size());
  }
  return most;
}

std::optional<size_t> Steps::at(ProcessId process, int64_t time) const {
  const auto found = spans.find(process.value);
  if (found == spans.end()) {
    return std::nullopt;
  }
  const auto after = std::ranges::upper_bound(found->second, time, {}, &Span::from);
  if (after == found->second.begin() || std::prev(after)->to <= time) {
    return std::nullopt;
  }
  return static_cast<size_t>(std::prev(after) - found->second.begin());
}

std::optional<size_t> period_of(const std::vector<uint32_t>& sequence) {
  const size_t from = sequence.size() > judged ? sequence.size() - judged : 0;
  const size_t length = sequence.size() - from;
  // A period without exceptions first: in a long step of nearly equal kernels a shorter one is nearly right too.
  for (double alike : {1.0, alike_enough}) {
    for (size_t period = 1; period <= std::min(longest_period, length / least_steps); ++period) {
      const size_t compared = length - period;
      const auto allowed = static_cast<size_t>((1 - alike) * static_cast<double>(compared));
      size_t different = 0;
      for (size_t i = from; i + period < sequence.size() && different <= allowed; ++i) {
        different += sequence[i] != sequence[i + period] ? 1 : 0;
      }
      if (different <= allowed) {
        return period;
      }
    }
  }
  return std::nullopt;
}

Steps find_steps(const Capture& capture, const std::string& pattern) {
  if (auto steps = by_ranges(capture, pattern)) {
    return std::move(*steps);
  }
  if (!pattern.empty()) {
    return {Steps::By::none,
            fmt::format("no NVTX range is called \"{}\" at least {} times without overlap", pattern, least_steps),
            false,
            {}};
  }
  if (auto steps = by_graph_launches(capture)) {
    return std::move(*steps);
  }
  std::vector<bool> collective;
  for (const KernelShape& shape : capture.shapes) {
    collective.push_back(is_nccl_kernel(capture.text(shape.name)));
  }
  if (auto steps = by_period(Steps::By::collectives, "collective", false,
                             kernels_in_order(capture, [&](ShapeId shape) { return collective[shape.value]; }))) {
    return std::move(*steps);
  }
  if (auto steps =
          by_period(Steps::By::kernels, "kernel", false, kernels_in_order(capture, [](ShapeId) { return true; }))) {
    return std::move(*steps);
  }
  return {
      Steps::By::none, "there is no NVTX range, and neither graph launches, collectives nor kernels repeat", false, {}};
}

}  // namespace kvet::questions
