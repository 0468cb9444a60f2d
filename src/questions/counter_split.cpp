#include "questions/counter_split.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "questions/regression.h"

namespace kvet::questions {
namespace {

constexpr size_t other_kernels = 14;  // with a regressor of their own; the rest share one
constexpr uint64_t least_rows = 100;
// A sample with more executions than this is left out: it bounds the search where one execution spans many others.
constexpr size_t executions_looked_at = 512;

// The names that share samples with K, those with most time first.
std::map<StringId, size_t> unknown_of_name(const Capture& capture, const KernelSet& kernels, DeviceId device) {
  std::map<StringId, double> time;
  for (const Execution& execution : capture.executions) {
    if (execution.device == device && !kernels.contains(execution.shape)) {
      time[capture.shapes[execution.shape.value].name] += static_cast<double>(execution.end_ns - execution.start_ns);
    }
  }
  std::vector<std::pair<double, StringId>> order;
  order.reserve(time.size());
  for (const auto& [name, total] : time) {
    order.emplace_back(total, name);
  }
  std::ranges::sort(order, std::greater<>{});
  std::map<StringId, size_t> unknown;
  for (const auto& [total, name] : order) {
    unknown.emplace(name, std::min(unknown.size(), other_kernels) + 1);
  }
  return unknown;
}

}  // namespace

SplitRows split_rows(const Capture& capture, const KernelSet& kernels, const DeviceTimeline& timeline,
                     const DeviceSamples& device, const SpanSet& transfers) {
  SplitRows result;
  if (!device.guard_ns || static_cast<double>(*device.guard_ns) / 3 > device.interval_ns / 4) {
    return result;  // time shares of a sample would be mostly error
  }
  const std::map<StringId, size_t> unknown = unknown_of_name(capture, kernels, timeline.device);
  const size_t copies = std::min(unknown.size(), other_kernels + 1) + 1;
  result.unknowns = copies + (transfers.empty() ? 0 : 1);
  // Executions that a sibling met are another population, also in the part before it came.
  std::vector<Span> met;
  for (const Run& run : timeline.runs) {
    if (run.beside_ns > 0) {
      met.push_back({run.from_ns, run.to_ns});
    }
  }
  const SpanSet overlapped{std::move(met)};
  std::vector<const Execution*> executions;
  for (const Execution& execution : capture.executions) {
    if (execution.device == timeline.device && execution.end_ns > execution.start_ns) {
      executions.push_back(&execution);
    }
  }
  size_t first = 0;  // executions before it ended before the sample; they do not overlap, or the sample is skipped
  for (const Sample* sample : device.samples) {
    while (first < executions.size() && executions[first]->end_ns <= sample->start_ns) {
      ++first;
    }
    if (timeline.alone.covered(sample->start_ns, sample->end_ns) == 0 ||
        overlapped.covered(sample->start_ns, sample->end_ns) > 0 ||
        timeline.other_context.covered(sample->start_ns, sample->end_ns) > 0) {
      continue;
    }
    std::vector<double> time(result.unknowns);
    double sum = 0;
    // Neighbours' time stamps overlap a little without the kernels doing so.
    const double most = 1.02 * static_cast<double>(sample->end_ns - sample->start_ns);
    for (size_t i = first; i < executions.size() && executions[i]->start_ns < sample->end_ns; ++i) {
      const double part = static_cast<double>(std::min(executions[i]->end_ns, sample->end_ns) -
                                              std::max(executions[i]->start_ns, sample->start_ns));
      if (part > 0) {
        time[kernels.contains(executions[i]->shape) ? 0
                                                    : unknown.at(capture.shapes[executions[i]->shape.value].name)] +=
            part;
        sum += part;
      }
      if (i - first == executions_looked_at) {
        sum = most + 1;
      }
      if (sum > most) {
        break;
      }
    }
    if (sum > most) {
      continue;
    }
    if (!transfers.empty()) {
      time[copies] = static_cast<double>(transfers.covered(sample->start_ns, sample->end_ns));
    }
    SplitRow row{sample, {}};
    for (size_t i = 0; i < time.size(); ++i) {
      if (time[i] > 0) {
        row.time_ns.emplace_back(i, time[i]);
      }
    }
    result.rows.push_back(std::move(row));
  }
  return result;
}

std::optional<Estimate> split_rate(const SplitRows& rows, const std::vector<std::optional<double>>& counts,
                                   double reference) {
  // Unknowns that no row mentions are left out.
  std::vector<size_t> position(rows.unknowns);
  size_t used = 0;
  {
    std::vector<bool> seen(rows.unknowns);
    for (size_t i = 0; i < rows.rows.size(); ++i) {
      for (const auto& [unknown, time] : rows.rows[i].time_ns) {
        seen[unknown] = seen[unknown] || counts[i].has_value();
      }
    }
    if (rows.unknowns == 0 || !seen[0]) {
      return std::nullopt;
    }
    for (size_t i = 0; i < rows.unknowns; ++i) {
      position[i] = seen[i] ? used++ : 0;
    }
  }
  NonNegativeLeastSquares squares{used};
  uint64_t count = 0;
  std::vector<std::pair<size_t, double>> row;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    if (counts[i]) {
      row.clear();
      for (const auto& [unknown, time] : rows.rows[i].time_ns) {
        row.emplace_back(position[unknown], time);
      }
      squares.add(row, *counts[i]);
      ++count;
    }
  }
  if (count < least_rows) {
    return std::nullopt;
  }
  const auto solution = squares.solve();
  if (!solution || !(solution->standard_error[0] < 0.25 * std::max(solution->b[0], reference))) {
    return std::nullopt;
  }
  const double half = t_quantile_975(static_cast<double>(count - used)) * solution->standard_error[0];
  return Estimate{solution->b[0], Interval{solution->b[0] - half, solution->b[0] + half}, count,
                  solution->standard_error[0]};
}

}  // namespace kvet::questions
