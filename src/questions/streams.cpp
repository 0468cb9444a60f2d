#include "questions/streams.h"

#include <algorithm>

namespace kvet::questions {
namespace {

// What executions and transfers have in common here.
struct Work {
  uint64_t correlation, stream;
  ProcessId process;
  DeviceId device;
  int64_t start_ns, end_ns;
};
template <class Row>
Work work_of(const Row& row) {
  return {row.correlation_id == 0 ? 0 : correlation_key(row.process, row.correlation_id),
          stream_key(row.process, row.context_id, row.stream_id),
          row.process,
          row.device,
          row.start_ns,
          row.end_ns};
}

// Visits executions and transfers together, by start.
template <class Visit>
void by_start(const Capture& capture, Visit visit) {
  size_t execution = 0, transfer = 0;
  while (execution < capture.executions.size() || transfer < capture.transfers.size()) {
    const bool take_execution = transfer == capture.transfers.size() ||
                                (execution < capture.executions.size() &&
                                 capture.executions[execution].start_ns <= capture.transfers[transfer].start_ns);
    visit(take_execution ? work_of(capture.executions[execution++]) : work_of(capture.transfers[transfer++]));
  }
}

}  // namespace

Launches launches_of(const Capture& capture, const KernelSet& kernels) {
  Launches result;
  std::unordered_map<uint64_t, uint32_t> of_k;  // correlation to index of its launch
  for (const Execution& execution : capture.executions) {
    if (!kernels.contains(execution.shape)) {
      continue;
    }
    ++result.executions;
    if (execution.correlation_id == 0) {
      ++result.without_correlation;
      continue;
    }
    auto [at, added] = of_k.try_emplace(correlation_key(execution.process, execution.correlation_id),
                                        static_cast<uint32_t>(result.launches.size()));
    if (added) {
      result.launches.emplace_back();
    }
    Launch& launch = result.launches[at->second];
    ++launch.executions;
    launch.graph = launch.graph || execution.graph_node_id != 0;
  }

  std::vector<bool> begun(result.launches.size());
  std::unordered_map<uint64_t, int64_t> latest_end;  // by stream
  by_start(capture, [&](const Work& work) {
    auto [end, first_in_stream] = latest_end.try_emplace(work.stream, work.end_ns);
    if (first_in_stream) {
      ++result.streams_of_process[work.process.value];
    }
    if (const auto at = work.correlation == 0 ? of_k.end() : of_k.find(work.correlation);
        at != of_k.end() && !begun[at->second]) {
      begun[at->second] = true;
      Launch& launch = result.launches[at->second];
      launch.first_start_ns = work.start_ns;
      launch.device = work.device;
      launch.stream = work.stream;
      if (!first_in_stream) {
        launch.ready_ns = end->second;
      }
    }
    end->second = std::max(end->second, work.end_ns);
  });

  for (uint32_t index = 0; index < capture.api_calls.size(); ++index) {
    const ApiCall& call = capture.api_calls[index];
    if (call.correlation_id == 0 || !is_launch(call.kind)) {
      continue;
    }
    if (const auto at = of_k.find(correlation_key(call.process, call.correlation_id)); at != of_k.end()) {
      result.launches[at->second].call = index;
      result.launches[at->second].graph = call.kind == ApiKind::launch_graph;
    }
  }
  std::stable_sort(result.launches.begin(), result.launches.end(),
                   [](const Launch& a, const Launch& b) { return a.first_start_ns < b.first_start_ns; });
  return result;
}

}  // namespace kvet::questions
