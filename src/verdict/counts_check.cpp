#include "verdict/counts_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace kvet::verdict {
namespace {

// Launch records may fall short of the uprobes' count by calls in flight when the recording stopped: one per thread, and
// a target rarely launches from more than a handful. Beyond both limits records were lost.
constexpr int64_t tolerated_launches = 8;
constexpr double tolerated_share = 0.0005;

uint64_t key_of(ProcessId process, uint32_t correlation_id) { return (uint64_t{process.value} << 32) | correlation_id; }

// Another tool's recording is cut where somebody stopped it, or cut it out of a longer one: what was launched after the last
// launch of its process that ran was in flight then. A gap before that is a gap. (`kvet record` waits for what is in flight.)
class InFlight {
 public:
  InFlight(const Capture& capture, const std::unordered_map<uint64_t, uint64_t>& executions)
      : imported_(capture.fact("tier") == "imported") {
    for (const ApiCall& call : capture.api_calls) {
      if (imported_ && is_kernel_launch(call.kind) && executions.contains(key_of(call.process, call.correlation_id))) {
        int64_t& last = last_ns_.try_emplace(call.process.value, call.start_ns).first->second;
        last = std::max(last, call.start_ns);
      }
    }
  }
  [[nodiscard]] bool contains(const ApiCall& call) const {
    const auto last = last_ns_.find(call.process.value);
    return imported_ && last != last_ns_.end() && call.start_ns > last->second;
  }

 private:
  bool imported_;
  std::unordered_map<uint32_t, int64_t> last_ns_;  // start of the last launch that ran, by process
};

void check_eager(const Capture& capture, const Window& window, CountsCheck& check) {
  std::unordered_map<uint64_t, uint64_t> executions;
  for (const Execution& execution : capture.executions) {
    if (execution.graph_node_id == 0) {
      ++executions[key_of(execution.process, execution.correlation_id)];
    }
  }
  const InFlight in_flight(capture, executions);
  uint64_t missing_anywhere = 0, flagged = 0, unfinished = 0;
  for (const ApiCall& call : capture.api_calls) {
    if (!is_kernel_launch(call.kind) || call.correlation_id == 0 || call.result != 0) {
      continue;
    }
    if (call.captured) {
      ++flagged;
      continue;
    }
    auto found = executions.find(key_of(call.process, call.correlation_id));
    uint64_t count = found == executions.end() ? 0 : found->second;
    bool inside = window.contains(call.start_ns);
    check.launches += inside ? 1 : 0;
    if (count == 0 && in_flight.contains(call)) {
      ++unfinished;
    } else if (count == 0) {
      ++missing_anywhere;
      check.missing_executions += inside ? 1 : 0;
    } else if (count > 1 && call.kind == ApiKind::launch_kernel) {
      check.surplus_executions += inside ? count - 1 : 0;
    }
  }
  if (unfinished > 0) {
    check.notes.push_back(fmt::format("{} launches were in flight when the recording ended", unfinished));
  }
  // Launches under stream capture execute nothing. Where the records do not say which they were, their number does.
  auto captured = whole_fact(capture, "check.launches_captured");
  uint64_t unflagged =
      captured && *captured > static_cast<int64_t>(flagged) ? static_cast<uint64_t>(*captured) - flagged : 0;
  if (missing_anywhere <= unflagged) {
    check.missing_executions = 0;
  }
}

// Counts of one node over the replays of its graph that carry the launch record of a replay in the window.
void check_graphs(const Capture& capture, const Window& window, const LaunchIndex& launches, CountsCheck& check) {
  std::unordered_map<uint64_t, uint32_t> replay_graph;  // replay → graph
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> replays;  // (process, graph) → replays
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, std::unordered_map<uint64_t, uint64_t>> nodes;
  auto visit = [&](ProcessId process, uint32_t correlation, uint32_t graph, uint64_t node) {
    const ApiCall* call = launches.find(process, correlation);
    if (node == 0 || call == nullptr || !window.contains(call->start_ns)) {
      return;
    }
    uint64_t replay = key_of(process, correlation);
    if (replay_graph.try_emplace(replay, graph).second) {
      ++replays[{process.value, graph}];
    }
    ++nodes[{process.value, graph, node}][replay];
  };
  for (const Execution& execution : capture.executions) {
    visit(execution.process, execution.correlation_id, execution.graph_id, execution.graph_node_id);
  }
  for (const Transfer& transfer : capture.transfers) {
    visit(transfer.process, transfer.correlation_id, transfer.graph_id, transfer.graph_node_id);
  }
  uint64_t varying = 0;
  for (const auto& [node, counts] : nodes) {
    uint64_t of = replays[{std::get<0>(node), std::get<1>(node)}];
    std::map<uint64_t, uint64_t> how_often;  // executions per replay → replays
    uint64_t absent = of - counts.size();
    if (absent > 0) {
      how_often[0] = absent;
    }
    for (const auto& [replay, count] : counts) {
      ++how_often[count];
    }
    // Of two counts that are equally common the larger one is the right one.
    auto usual = std::max_element(how_often.begin(), how_often.end(),
                                  [](const auto& a, const auto& b) { return a.second <= b.second; });
    if (of - usual->second > std::max<uint64_t>(1, of / 10) || usual->first == 0) {
      ++varying;  // a conditional body: how often it runs is the program's business
      continue;
    }
    for (const auto& [count, times] : how_often) {
      check.missing_executions += count < usual->first ? (usual->first - count) * times : 0;
      check.surplus_executions += count > usual->first ? (count - usual->first) * times : 0;
    }
  }
  if (varying > 0) {
    check.notes.push_back(
        fmt::format("{} graph nodes run in some replays only: their executions cannot be counted", varying));
  }
  uint64_t without = 0;
  for (const ApiCall& call : capture.api_calls) {
    if (call.kind == ApiKind::launch_graph && call.correlation_id != 0 && call.result == 0 && !call.captured &&
        window.contains(call.start_ns)) {
      ++check.graph_launches;
      without += replay_graph.contains(key_of(call.process, call.correlation_id)) ? 0 : 1;
    }
  }
  // A launch record does not name its graph. Where graph launches have executions as a rule, one without is a gap; where
  // most have none, the graphs hold no kernels.
  if (2 * without < check.graph_launches) {
    check.missing_executions += without;
  } else if (without > 0) {
    check.notes.push_back(fmt::format("{} of {} graph launches have no execution", without, check.graph_launches));
  }
}

void check_uprobes(const Capture& capture, CountsCheck& check) {
  auto seen = whole_fact(capture, "check.launches_uprobe");
  if (!seen) {
    return;
  }
  int64_t records = 0;
  for (const ApiCall& call : capture.api_calls) {
    // What the uprobes count: every entry point that starts work.
    records +=
        is_kernel_launch(call.kind) || call.kind == ApiKind::launch_graph || call.kind == ApiKind::launch_host_function
            ? 1
            : 0;
  }
  int64_t short_of = *seen - records;
  if (short_of > tolerated_launches && static_cast<double>(short_of) > tolerated_share * static_cast<double>(*seen)) {
    check.disagreements.push_back(fmt::format("the uprobes counted {} launches, the records hold {}", *seen, records));
  } else if (short_of != 0) {
    check.notes.push_back(fmt::format("the uprobes counted {} launches, the records hold {}", *seen, records));
  }
}

}  // namespace

CountsCheck check_counts(const Capture& capture, const Window& window) {
  CountsCheck check;
  const LaunchIndex launches(capture);
  if (launches.empty()) {
    check.notes.emplace_back("no launch records: executions could not be counted against launches");
    return check;
  }
  check_eager(capture, window, check);
  check_graphs(capture, window, launches, check);
  check_uprobes(capture, check);
  for (const Execution& execution : capture.executions) {
    if (window.contains(execution.start_ns)) {
      ++check.executions;
      check.unlaunched_executions += launches.find(execution.process, execution.correlation_id) == nullptr ? 1 : 0;
    }
  }
  if (check.missing_executions > 0) {
    check.disagreements.push_back(
        fmt::format("{} executions are missing that launch records ask for", check.missing_executions));
  }
  if (check.surplus_executions > 0) {
    check.disagreements.push_back(
        fmt::format("{} executions more than their launches can have", check.surplus_executions));
  }
  if (check.unlaunched_executions > 0) {
    check.notes.push_back(fmt::format("{} executions without a launch record", check.unlaunched_executions));
  }
  return check;
}

}  // namespace kvet::verdict
