// Launches joined to executions by correlation id: every launch executes once, every node of a graph once per launch, nothing
// starts before its launch or ends after the call that waited for it.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "questions/make_finding.h"
#include "questions/quality_parts.h"
#include "questions/spans.h"

namespace kvet::questions {
namespace {

uint64_t key_of(ProcessId process, uint32_t correlation) { return uint64_t{process.value} << 32 | correlation; }

struct Joined {
  // Of the launch and copy calls; the first of several with one id.
  std::unordered_map<uint64_t, uint32_t> call;
  std::unordered_map<uint64_t, uint32_t> kernels;  // executions by key
  uint64_t orphans = 0;  // executions without a launch record
};

Joined join(const Capture& capture) {
  Joined joined;
  for (uint32_t i = 0; i < capture.api_calls.size(); ++i) {
    const ApiCall& call = capture.api_calls[i];
    if (call.correlation_id != 0) {
      joined.call.try_emplace(key_of(call.process, call.correlation_id), i);
    }
  }
  for (const Execution& execution : capture.executions) {
    if (execution.correlation_id == 0 || !joined.call.contains(key_of(execution.process, execution.correlation_id))) {
      ++joined.orphans;
    } else {
      ++joined.kernels[key_of(execution.process, execution.correlation_id)];
    }
  }
  return joined;
}

void add_executions(std::vector<Finding>& findings, const Capture& capture, const Joined& joined) {
  uint64_t launches = 0, without = 0, several = 0, captured_ran = 0;
  for (const ApiCall& call : capture.api_calls) {
    if ((call.kind != ApiKind::launch_kernel && call.kind != ApiKind::launch_cooperative) || call.correlation_id == 0 ||
        call.result != 0) {
      continue;
    }
    const auto found_kernels = joined.kernels.find(key_of(call.process, call.correlation_id));
    const uint32_t count = found_kernels == joined.kernels.end() ? 0 : found_kernels->second;
    if (call.captured) {
      captured_ran += count > 0 ? 1 : 0;
      continue;
    }
    ++launches;
    without += count == 0 ? 1 : 0;
    several += count > 1 && call.kind == ApiKind::launch_kernel ? 1 : 0;
  }
  const uint64_t wrong = without + several + captured_ran + joined.orphans;
  Finding finding =
      found(Question::capture, "quality.executions", "", static_cast<double>(wrong), "count", Evidence::measured,
            launches + capture.executions.size(),
            fmt::format(
                "{} kernel launches, {} executions: {} launches without an execution, {} with several, {} executions "
                "without a launch record{}.",
                launches, capture.executions.size(), without, several, joined.orphans,
                captured_ran > 0 ? fmt::format(", {} launches under stream capture that executed", captured_ran) : ""));
  if (wrong > 0) {
    finding.advice =
        "a few at the edges of the recording are work in flight, kernels that had not ended among them; more are lost "
        "records";
  }
  findings.push_back(std::move(finding));
}

// Each launch of a graph must run as many kernels as its other launches.
void add_graph_nodes(std::vector<Finding>& findings, const Capture& capture, const Joined& joined) {
  std::unordered_map<uint64_t, uint32_t> graph_of;  // launch → graph
  for (const Execution& execution : capture.executions) {
    if (execution.graph_id != 0 && execution.correlation_id != 0) {
      graph_of.try_emplace(key_of(execution.process, execution.correlation_id), execution.graph_id);
    }
  }
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, uint64_t>> sizes;  // (process, graph) → kernels → launches
  uint64_t launches = 0, empty = 0, nodes = 0;
  for (const ApiCall& call : capture.api_calls) {
    if (call.kind != ApiKind::launch_graph || call.correlation_id == 0 || call.result != 0) {
      continue;
    }
    ++launches;
    const uint64_t key = key_of(call.process, call.correlation_id);
    const auto graph = graph_of.find(key);
    if (graph == graph_of.end()) {
      ++empty;
      continue;
    }
    const uint32_t count = joined.kernels.at(key);
    nodes += count;
    ++sizes[{call.process.value, graph->second}][count];
  }
  if (launches == 0) {
    return;
  }
  uint64_t unlike = 0;
  for (const auto& [graph, counts] : sizes) {
    uint64_t all = 0, most = 0;
    for (const auto& [count, times] : counts) {
      all += times;
      most = std::max(most, times);
    }
    unlike += all - most;
  }
  Finding finding = found(
      Question::capture, "quality.graph_nodes", "", static_cast<double>(unlike), "count", Evidence::measured, launches,
      fmt::format(
          "{} graph launches ran {} kernels; {} launches ran another number than most of their graph, {} ran none.",
          launches, nodes, unlike, empty));
  if (unlike > 0) {
    finding.advice = "conditional nodes explain it where the graphs have any; else records were lost";
  }
  findings.push_back(std::move(finding));
}

struct Violations {
  uint64_t checked = 0, count = 0;
  int64_t worst_ns = 0;
  std::string example;

  void check(int64_t excess_ns, auto&& describe) {
    ++checked;
    if (excess_ns > 0) {
      ++count;
      if (excess_ns > worst_ns) {
        worst_ns = excess_ns;
        example = describe();
      }
    }
  }
};

Finding violation_finding(const char* id, const Violations& violations, const char* what) {
  Finding finding = found(Question::capture, id, "", static_cast<double>(violations.count), "count", Evidence::measured,
                          violations.checked,
                          fmt::format("{} of {} executions {}{}", violations.count, violations.checked, what,
                                      violations.count > 0 ? "; the worst: " + violations.example : "."));
  if (violations.count > 0) {
    finding.advice =
        "the clocks of host and device do not agree: times of this capture are not to be trusted to better than that";
  }
  return finding;
}

void add_starts(std::vector<Finding>& findings, const Capture& capture, const Joined& joined) {
  Violations violations;
  for (const Execution& execution : capture.executions) {
    const auto call = joined.call.find(key_of(execution.process, execution.correlation_id));
    if (execution.correlation_id != 0 && call != joined.call.end()) {
      const int64_t early = capture.api_calls[call->second].start_ns - execution.start_ns;
      violations.check(early, [&] {
        return fmt::format("process {}, correlation id {} starts {} ns before its launch call.",
                           capture.processes[execution.process.value].pid, execution.correlation_id, early);
      });
    }
  }
  if (violations.checked == 0) {
    findings.push_back(unavailable(Question::capture, "quality.causality.start", "", "count",
                                   "no execution can be joined to its launch", "use the device tier"));
    return;
  }
  findings.push_back(violation_finding("quality.causality.start", violations, "start before their launch"));
}

// A call that waits for a whole context (or for a stream, where the process has only one) returns after everything that was
// launched before it began. Which context or stream a call waited for is not recorded, so processes with several are left out.
void add_ends(std::vector<Finding>& findings, const Capture& capture, const Joined& joined) {
  constexpr const char* id = "quality.causality.end";
  struct Use {
    bool any = false, contexts = false, streams = false;  // several of them
    uint32_t context = 0, stream = 0;
    std::vector<Span> waits;  // calls that wait, by start
  };
  std::vector<Use> uses(capture.processes.size());
  for (const Execution& execution : capture.executions) {
    Use& use = uses[execution.process.value];
    use.contexts = use.contexts || (use.any && use.context != execution.context_id);
    use.streams = use.streams || (use.any && use.stream != execution.stream_id);
    use.context = execution.context_id;
    use.stream = execution.stream_id;
    use.any = true;
  }
  for (const ApiCall& call : capture.api_calls) {
    Use& use = uses[call.process.value];
    const bool waits = (call.kind == ApiKind::synchronize_context && !use.contexts) ||
                       (call.kind == ApiKind::synchronize_stream && !use.contexts && !use.streams);
    if (waits && call.result == 0) {
      use.waits.push_back({call.start_ns, call.end_ns});
    }
  }
  Violations violations;
  for (const Execution& execution : capture.executions) {
    const auto call = joined.call.find(key_of(execution.process, execution.correlation_id));
    if (execution.correlation_id == 0 || call == joined.call.end()) {
      continue;
    }
    const std::vector<Span>& waits = uses[execution.process.value].waits;
    const auto wait = std::ranges::lower_bound(waits, capture.api_calls[call->second].end_ns, {}, &Span::from);
    if (wait != waits.end()) {
      const int64_t late = execution.end_ns - wait->to;
      violations.check(late, [&] {
        return fmt::format("process {}, correlation id {} ends {} ns after the call that waited for it returned.",
                           capture.processes[execution.process.value].pid, execution.correlation_id, late);
      });
    }
  }
  if (violations.checked == 0) {
    findings.push_back(unavailable(Question::capture, id, "", "count",
                                   "no recorded call waits for a whole context of a process with one context",
                                   "nothing to do: the alignment of starts is checked by quality.causality.start"));
    return;
  }
  findings.push_back(violation_finding(id, violations, "end after the call that waited for them"));
}

}  // namespace

void add_joins(std::vector<Finding>& findings, const Capture& capture) {
  if (capture.executions.empty()) {
    // CUPTI tells of a kernel when it has ended: one that runs for longer than the recording has a launch and no more.
    const auto launches = std::ranges::count_if(capture.api_calls, [](const ApiCall& call) {
      return is_launch(call.kind) && call.kind != ApiKind::launch_host_function && call.source == Source::cupti &&
             !call.captured && call.result == 0;
    });
    if (launches > 0) {
      findings.push_back(
          unavailable(Question::capture, "quality.executions", "", "count",
                      fmt::format("{} launches were recorded and no kernel had ended when the recording did", launches),
                      "record for longer than the longest kernel runs; a kernel is only seen once it has ended"));
      return;
    }
    findings.push_back(unavailable(Question::capture, "quality.executions", "", "count",
                                   "this capture holds no executions",
                                   "record with `kvet record -- CMD`: the device tier sees executions"));
    return;
  }
  const Joined joined = join(capture);
  add_executions(findings, capture, joined);
  add_graph_nodes(findings, capture, joined);
  add_starts(findings, capture, joined);
  add_ends(findings, capture, joined);
}

}  // namespace kvet::questions
