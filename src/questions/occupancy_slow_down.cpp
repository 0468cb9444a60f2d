// How much longer K takes beside each sibling, same launch shape. Executions are classified by what ran when they started, those
// that are called solo too: long executions meet more siblings, so any class that looks at the whole execution would find
// overlapped ones "slower" by itself. The price is that a sibling may come to one that started alone: how much of their time it
// was there is said for both.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "questions/make_finding.h"
#include "questions/occupancy_parts.h"

namespace kvet::questions {
namespace {

constexpr size_t siblings_reported = 8;

struct Durations {
  double count = 0, mean = 0, squares = 0;  // Welford (1962): squares is Σ (x − mean)²
  void add(double value) {
    ++count;
    const double delta = value - mean;
    mean += delta / count;
    squares += delta * (value - mean);
  }
  [[nodiscard]] double variance() const { return count > 1 ? squares / (count - 1) : 0; }
};

Finding slow_down(const Capture& capture, const KernelSet& kernels, const std::vector<DeviceTimeline>& devices,
                  const SiblingUse& sibling, const std::unordered_map<ShapeId, Durations>& solo, double solo_overlap) {
  std::unordered_map<ShapeId, Durations> beside;
  double overlap = 0, time = 0;
  uint64_t without_solo = 0;
  for (const DeviceTimeline& device : devices) {
    for (const Run& run : device.runs) {
      if (std::ranges::find(run.at_start, sibling.name) == run.at_start.end()) {
        continue;
      }
      const ShapeId shape = capture.executions[run.execution].shape;
      if (auto alone = solo.find(shape); alone == solo.end() || alone->second.count < 2) {
        ++without_solo;
        continue;
      }
      const double duration = static_cast<double>(run.to_ns - run.from_ns);
      beside[shape].add(duration);
      overlap += static_cast<double>(run.beside_ns);
      time += duration;
    }
  }
  constexpr const char* id = "occupancy.slow_down";
  // Standardised to the shapes that ran beside the sibling: Σ n·mean beside ÷ Σ n·mean solo over shapes.
  double numerator = 0, denominator = 0, count = 0;
  for (const auto& [shape, durations] : beside) {
    numerator += durations.count * durations.mean;
    denominator += durations.count * solo.at(shape).mean;
    count += durations.count;
  }
  if (!(denominator > 0)) {
    Finding finding = unavailable(
        Question::occupancy, id, kernels.label, "ratio",
        fmt::format("{} executions began beside it, and none of the same launch shape started alone at least twice",
                    without_solo),
        "record longer, or record this kernel once without the other streams");
    finding.beside = capture.text(sibling.name);
    return finding;
  }
  const double ratio = numerator / denominator;
  // First-order error of a ratio of two independent sums; the smaller number of executions gives the degrees of freedom.
  double variance = 0, least = 1e18;
  for (const auto& [shape, durations] : beside) {
    const Durations& alone = solo.at(shape);
    variance += durations.count * durations.variance() +
                ratio * ratio * durations.count * durations.count * alone.variance() / alone.count;
    least = std::min(least, alone.count - 1);
  }
  Finding finding =
      found(Question::occupancy, id, kernels.label, ratio, "ratio", Evidence::measured, static_cast<uint64_t>(count),
            fmt::format(
                "Started beside it, an execution takes {:.3f} times as long as one that started alone ({} executions, "
                "same launch shape; a sibling was "
                "there for {:.0f}% of their time, and came later for {:.0f}% of the time of those that started alone).",
                ratio, static_cast<uint64_t>(count), time > 0 ? 100 * overlap / time : 0.0, 100 * solo_overlap));
  if (count >= 2) {
    const double half = t_quantile_975(std::min(least, count - 1)) * std::sqrt(variance) / denominator;
    finding.interval = Interval{std::max(0.0, ratio - half), ratio + half};
  }
  finding.beside = capture.text(sibling.name);
  return finding;
}

}  // namespace

void add_slow_down(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                   const std::vector<DeviceTimeline>& devices) {
  std::unordered_map<ShapeId, Durations> solo;
  double overlap = 0, time = 0;
  for (const DeviceTimeline& device : devices) {
    for (const Run& run : device.runs) {
      const int64_t duration = run.to_ns - run.from_ns;
      if (run.at_start.empty() && !run.crowded_at_start && !device.other_context.contains(run.from_ns)) {
        solo[capture.executions[run.execution].shape].add(static_cast<double>(duration));
        overlap += static_cast<double>(run.beside_ns);
        time += static_cast<double>(duration);
      }
    }
  }
  const std::vector<SiblingUse> siblings = siblings_at_start(devices, siblings_reported);
  if (siblings.empty()) {
    findings.push_back(unavailable(Question::occupancy, "occupancy.slow_down", kernels.label, "ratio",
                                   "no execution began beside a sibling", "nothing to do: it runs alone here"));
  }
  for (const SiblingUse& sibling : siblings) {
    findings.push_back(slow_down(capture, kernels, devices, sibling, solo, time > 0 ? overlap / time : 0));
  }
}

}  // namespace kvet::questions
