// Dispatch: was the thread that launches K running, waiting for a CPU, or blocked, and did the GPU starve for it?
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "questions/device_busy.h"
#include "questions/dispatch_parts.h"
#include "questions/make_finding.h"
#include "questions/questions.h"
#include "questions/starvation.h"
#include "questions/step_partition.h"
#include "questions/wakers.h"

namespace kvet::questions {
namespace {

// A report stays readable: a server has a few dispatchers, a pool of hundreds is said to be one.
constexpr size_t threads_listed = 8;

void count(std::vector<Finding>& findings, const DispatchContext& context, const std::string& beside,
           const std::string& id, uint64_t value, std::string sentence) {
  findings.push_back(found(Question::dispatch, id, context.subject, static_cast<double>(value), "count",
                           Evidence::measured, value, std::move(sentence)));
  findings.back().beside = beside;
}

// Threads by how much they launch, and how many are left out.
struct Chosen {
  std::vector<ThreadKey> threads;
  size_t left_out = 0;
  uint64_t launches_left_out = 0;
};
Chosen busiest(const std::map<ThreadKey, uint64_t>& launches) {
  std::vector<std::pair<ThreadKey, uint64_t>> order(launches.begin(), launches.end());
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second > b.second; });
  Chosen chosen;
  for (const auto& [key, number] : order) {
    if (chosen.threads.size() < threads_listed) {
      chosen.threads.push_back(key);
    } else {
      ++chosen.left_out;
      chosen.launches_left_out += number;
    }
  }
  return chosen;
}

void say_left_out(std::vector<Finding>& findings, const DispatchContext& context, const Chosen& chosen) {
  if (chosen.left_out > 0) {
    count(findings, context, "", "dispatch.threads_left_out", chosen.left_out,
          fmt::format("Threads that are not listed; they made {} launches, fewer each than those listed",
                      chosen.launches_left_out));
  }
}

// Launch calls of the thread that started nothing which was seen. Only those flagged are known to be captured.
void append_captured(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher) {
  uint64_t captured = 0;
  for (uint32_t index : dispatcher.thread->calls) {
    captured += context.capture.api_calls[index].captured ? 1 : 0;
  }
  if (captured > 0) {
    count(findings, context, dispatcher.label, "dispatch.captured.launches", captured,
          "Launches of any kernel under stream capture: they execute nothing, and are not counted with the others");
  }
}

// The host tier: nothing is known about kernels, so all launches of all threads are looked at.
std::vector<Finding> from_the_host_only(const DispatchContext& context) {
  std::vector<Finding> findings;
  std::map<ThreadKey, uint64_t> launches;
  for (const ApiCall& call : context.capture.api_calls) {
    if (is_launch(call.kind)) {
      ++launches[{call.process.value, call.thread_id}];
    }
  }
  const Chosen chosen = busiest(launches);
  const auto threads = dispatch_threads(context.capture, chosen.threads);
  std::vector<Dispatcher> dispatchers;
  for (const ThreadKey& key : chosen.threads) {
    Dispatcher dispatcher{&threads.at(key), thread_label(context.capture, key), {}, {}, false};
    for (const bool graph : {false, true}) {
      const char* way = graph ? "graph" : "eager";
      std::vector<uint32_t> calls;
      for (uint32_t index : dispatcher.thread->calls) {
        const ApiCall& call = context.capture.api_calls[index];
        if (is_launch(call.kind) && !call.captured && (call.kind == ApiKind::launch_graph) == graph) {
          calls.push_back(index);
        }
      }
      if (!calls.empty()) {
        count(findings, context, dispatcher.label, fmt::format("dispatch.{}.launches", way), calls.size(),
              graph ? "Graph launches, of whatever is in the graph" : "Kernel launches, of any kernel");
        append_launch_cost(findings, context, dispatcher, way, calls);
      }
    }
    append_captured(findings, context, dispatcher);
    append_thread_time(findings, context, dispatcher);
    dispatchers.push_back(std::move(dispatcher));
  }
  say_left_out(findings, context, chosen);
  for (const char* id :
       {"dispatch.eager.lead", "dispatch.eager.start_delay", "dispatch.sync_bubble.return",
        "dispatch.starvation.stream.total", "dispatch.starvation.device.total", "dispatch.back_pressure.time"}) {
    findings.push_back(
        unavailable(Question::dispatch, id, context.subject, "ns", needs_device_reason, needs_device_advice));
  }
  append_cpu_takers(findings, context, dispatchers);
  return findings;
}

// Ends of all work, by process, sorted: what a synchronising call may have waited for.
std::map<uint32_t, std::vector<int64_t>> ends_by_process(const Capture& capture) {
  std::map<uint32_t, std::vector<int64_t>> ends;
  for (const Execution& execution : capture.executions) {
    ends[execution.process.value].push_back(execution.end_ns);
  }
  for (const Transfer& transfer : capture.transfers) {
    ends[transfer.process.value].push_back(transfer.end_ns);
  }
  for (auto& [process, times] : ends) {
    std::ranges::sort(times);
  }
  return ends;
}

void append_unjoined(std::vector<Finding>& findings, const DispatchContext& context, const Launches& launches) {
  uint64_t joined = 0;
  for (const Launch& launch : launches.launches) {
    joined += launch.call ? launch.executions : 0;
  }
  if (joined < launches.executions) {
    count(findings, context, "", "dispatch.executions_without_launch", launches.executions - joined,
          fmt::format("Of {} executions these could not be joined to a launch call: they began before the recording "
                      "did, or the call was lost",
                      launches.executions));
  }
}

void append_way(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher,
                const std::string& way, const std::vector<const Launch*>& launches) {
  if (launches.empty()) {
    return;
  }
  uint64_t executions = 0;
  std::vector<uint32_t> calls;
  for (const Launch* launch : launches) {
    executions += launch->executions;
    calls.push_back(*launch->call);
  }
  count(findings, context, dispatcher.label, fmt::format("dispatch.{}.launches", way), launches.size(),
        way == "graph" ? fmt::format("Graph launches that hold this kernel; they executed it {} times", executions)
                       : std::string("Launches of this kernel outside graphs"));
  append_launch_cost(findings, context, dispatcher, way, calls);
  append_timing(findings, context, dispatcher, way, launches);
}

// The device that most of the thread's launches of K ran on.
DeviceId main_device(const Dispatcher& dispatcher) {
  std::map<uint32_t, uint64_t> launches;
  for (const auto* way : {&dispatcher.eager, &dispatcher.graph}) {
    for (const Launch* launch : *way) {
      ++launches[launch->device.value];
    }
  }
  return DeviceId{std::ranges::max_element(launches, {}, [](const auto& entry) { return entry.second; })->first};
}

std::vector<Finding> nothing_joined(const DispatchContext& context, const Launches& launches) {
  std::vector<Finding> findings;
  const bool none_at_all = launches.executions == 0;
  const bool no_calls = context.capture.api_calls.empty();
  const std::string reason = none_at_all ? "the kernel did not run in this part of the capture"
                             : no_calls  ? "the capture holds no launch calls"
                                         : "none of its executions could be joined to a launch call";
  const std::string advice = none_at_all ? ""
                             : no_calls  ? "Record with `kvet record -- CMD`"
                                         : "Record again: the launch calls were lost";
  for (const char* id :
       {"dispatch.eager.launch_cost", "dispatch.eager.lead", "dispatch.eager.start_delay", "dispatch.off_cpu.total",
        "dispatch.gpu_wait.total", "dispatch.sync_bubble.return", "dispatch.starvation.stream.total",
        "dispatch.starvation.device.total", "dispatch.starvation.cause", "dispatch.cpu_taker", "dispatch.cpu_holder",
        "dispatch.step.wall"}) {
    findings.push_back(unavailable(Question::dispatch, id, context.subject, "ns", reason, advice));
  }
  return findings;
}

}  // namespace

DispatchSources dispatch_sources(const Capture& capture) {
  DispatchSources sources;
  const std::string_view tier = capture.fact("tier");
  sources.device = !capture.executions.empty() || tier == "device" || tier == "full" || tier == "unprivileged";
  // A target that was never off the CPU is possible, so the tier counts where it is known.
  sources.scheduler =
      !capture.off_cpu.empty() || tier == "host" || tier == "host+counters" || tier == "device" || tier == "full";
  sources.reasons =
      sources.scheduler && (capture.off_cpu.empty() || std::ranges::any_of(capture.off_cpu, [](const OffCpu& interval) {
                              return interval.reason != OffCpuReason::unexplained;
                            }));
  sources.synchronising_calls = std::ranges::any_of(capture.api_calls, [](const ApiCall& call) {
    return call.source != Source::uprobe;  // uprobes sit on launch entry points only
  });
  return sources;
}

Missing no_scheduler(const Capture& capture) {
  return missing_source(
      capture, "sched",
      {"the scheduler was not recorded, which takes privileges", "Record as root, or with CAP_BPF and CAP_PERFMON"});
}

Missing no_reasons() {
  return {"the file says when a thread was off the CPU, not why, nor who took the CPU or woke it up",
          "Record with `kvet record` for the reasons"};
}

std::vector<Finding> dispatch(const Capture& capture, const KernelSet& kernels) {
  const DispatchContext context{capture, dispatch_sources(capture), kernels.label};
  std::vector<Finding> findings;
  if (!context.sources.device) {
    findings = from_the_host_only(context);
  } else {
    const Launches launches = launches_of(capture, kernels);
    std::map<ThreadKey, Dispatcher> by_thread;
    std::map<ThreadKey, uint64_t> numbers;
    for (const Launch& launch : launches.launches) {
      if (launch.call) {
        const ApiCall& call = capture.api_calls[*launch.call];
        const ThreadKey key{call.process.value, call.thread_id};
        (launch.graph ? by_thread[key].graph : by_thread[key].eager).push_back(&launch);
        ++numbers[key];
      }
    }
    if (by_thread.empty()) {
      findings = nothing_joined(context, launches);
    } else {
      const Chosen chosen = busiest(numbers);
      const auto threads = dispatch_threads(capture, chosen.threads);
      const auto ends = ends_by_process(capture);
      std::vector<SpanSet> busy;
      busy.reserve(capture.devices.size());
      for (uint32_t device = 0; device < capture.devices.size(); ++device) {
        busy.push_back(device_busy(capture, DeviceId{device}));
      }
      std::vector<Dispatcher> dispatchers;
      std::vector<std::vector<Span>> gaps;  // of each dispatcher
      const Steps steps = find_steps(capture, std::string(capture.fact("experiment.step")));
      std::map<uint32_t, DeviceParts> device_of;
      for (const ThreadKey& key : chosen.threads) {
        Dispatcher& dispatcher = by_thread[key];
        dispatcher.thread = &threads.at(key);
        dispatcher.label = thread_label(capture, key);
        const auto streams = launches.streams_of_process.find(key.first);
        dispatcher.one_stream = streams != launches.streams_of_process.end() && streams->second == 1;
        append_way(findings, context, dispatcher, "eager", dispatcher.eager);
        append_way(findings, context, dispatcher, "graph", dispatcher.graph);
        append_captured(findings, context, dispatcher);
        Starvation starvation = starvation_of(capture, dispatcher, busy);
        append_starvation(findings, context, dispatcher, starvation);
        gaps.push_back(std::move(starvation.streams));
        append_thread_time(findings, context, dispatcher);
        append_sync_bubble(findings, context, dispatcher, ends.at(key.first));
        const DeviceId device = main_device(dispatcher);
        auto [parts, added] = device_of.try_emplace(device.value);
        if (added) {
          parts->second = device_parts(capture, kernels, device);
        }
        append_step_partition(findings, context, dispatcher, steps, parts->second);
        dispatchers.push_back(dispatcher);
      }
      say_left_out(findings, context, chosen);
      append_unjoined(findings, context, launches);
      append_back_pressure(findings, context, dispatchers);
      append_wakers(findings, context, dispatchers, gaps);
      append_cpu_takers(findings, context, dispatchers);
    }
  }
  return findings;
}

}  // namespace kvet::questions
