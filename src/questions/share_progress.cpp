#include "questions/share_progress.h"
#include "base/quadrature.h"

#include <algorithm>
#include <cmath>

namespace kvet::questions {
namespace {

constexpr double executions_in_stretch = 4;
constexpr double least_samples_in_stretch = 10;
constexpr uint64_t least_stretches = 60;
constexpr size_t most_shapes = 10;
constexpr size_t most_running = 256;  // hardware runs at most 128 kernels at once
constexpr size_t bands = 20;          // stretches of time for the jackknife
// What uneven work within executions does to a cost, at four executions in a stretch: simulated, and 0.1% to 0.9% for kernels of
// known bytes on an H200.
constexpr double uneven = 0.01;
// A cost that is not known to this part of the largest one tells nothing.
constexpr double worst_error = 0.05;

struct Stretch {
  Observation observation;
  double length_ns = 0;
};

struct Duration {
  double sum_ns = 0, count = 0;
};

}  // namespace

std::map<uint32_t, SoloCost> costs_by_progress(const Capture& capture, DeviceId device, const ShareTable& table,
                                               const ShareInput& input) {
  std::vector<const Execution*> executions;
  std::map<uint32_t, Duration> durations;
  if (table.rows.empty()) {
    return {};
  }
  const int64_t from = table.rows.front().sample->start_ns, to = table.rows.back().sample->end_ns;
  for (const Execution& execution : capture.executions) {
    if (execution.device == device && execution.end_ns > execution.start_ns && execution.end_ns > from &&
        execution.start_ns < to) {
      executions.push_back(&execution);
      Duration& duration = durations[execution.shape.value];
      duration.sum_ns += static_cast<double>(execution.end_ns - execution.start_ns);
      ++duration.count;
    }
  }
  // Shapes as parties: those with most time have a column of their own, as long as there are few.
  std::map<uint32_t, size_t> index;
  std::vector<Party> parties;
  std::vector<double> weight;
  for (const auto& [shape, duration] : durations) {
    index[shape] = parties.size();
    parties.push_back({PartyKind::kernel, ShapeId{shape}, false});
    weight.push_back(duration.sum_ns);
  }
  double most = 0, longest = 0;
  for (double each : weight) {
    most = std::max(most, each);
  }
  for (const auto& [shape, duration] : durations) {
    longest = std::max(longest, duration.sum_ns > 0.1 * most ? duration.sum_ns / duration.count : 0);
  }

  std::vector<Stretch> stretches;
  std::vector<const Execution*> running;
  size_t next = 0;
  double row_ns = 0;
  for (const ShareRow& row : table.rows) {
    const auto count = input.read(*row.sample);
    if (!count) {
      continue;
    }
    row_ns = std::max(row_ns, row.length_ns);
    const double wanted = std::max(executions_in_stretch * longest, least_samples_in_stretch * row_ns);
    if (stretches.empty() || stretches.back().length_ns >= wanted) {
      stretches.emplace_back();
      stretches.back().observation.warp_ns.resize(parties.size());
      for (size_t party = 0; party < parties.size(); ++party) {
        stretches.back().observation.warp_ns[party].first = party;
      }
    }
    Stretch& stretch = stretches.back();
    stretch.length_ns += row.length_ns;
    stretch.observation.count += *count;
    stretch.observation.copies +=
        (input.copies_read ? row.copy_read_bytes : 0) + (input.copies_write ? row.copy_write_bytes : 0);
    const int64_t start = row.sample->start_ns, end = row.sample->end_ns;
    for (; next < executions.size() && executions[next]->start_ns < end; ++next) {
      if (running.size() < most_running) {
        running.push_back(executions[next]);
      }
    }
    std::erase_if(running, [&](const Execution* execution) { return execution->end_ns <= start; });
    for (const Execution* execution : running) {
      const auto part = static_cast<double>(std::min(execution->end_ns, end) - std::max(execution->start_ns, start));
      if (part > 0) {
        stretch.observation.warp_ns[index.at(execution->shape.value)].second +=
            part / static_cast<double>(execution->end_ns - execution->start_ns);
      }
    }
  }
  if (parties.empty() || stretches.size() < 2) {
    return {};
  }
  ShareSystem system{parties, weight, most_shapes, least_stretches};
  for (size_t i = 0; i < stretches.size(); ++i) {
    stretches[i].observation.block = i * std::min(bands, stretches.size()) / stretches.size();
    system.add(stretches[i].observation);
  }
  system.finish();
  const auto costs = system.determined() ? system.solve() : std::nullopt;
  if (!costs) {
    return {};
  }
  std::vector<double> squares(parties.size());
  const size_t blocks = std::min(bands, stretches.size());
  for (size_t block = 0; block < blocks; ++block) {
    const auto without = system.solve(block);
    if (!without) {
      return {};
    }
    for (size_t party = 0; party < parties.size(); ++party) {
      squares[party] += std::pow(without->by_party[party] - costs->by_party[party], 2);
    }
  }
  const double largest = *std::ranges::max_element(costs->by_party);
  std::map<uint32_t, SoloCost> result;
  for (const auto& [shape, party] : index) {
    const double statistical =
        std::sqrt(squares[party] * static_cast<double>(blocks - 1) / static_cast<double>(blocks));
    const double error = in_quadrature(statistical, uneven * costs->by_party[party]);
    if (system.separate(party) && error <= worst_error * largest) {
      result[shape] = {costs->by_party[party], error};
    }
  }
  return result;
}

}  // namespace kvet::questions
