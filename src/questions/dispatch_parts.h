// The parts of the dispatch question. Each appends the findings of one thread; dispatch.cpp puts them together.
#pragma once

#include <string>
#include <vector>

#include "model/capture.h"
#include "model/finding.h"
#include "questions/dispatch_thread.h"
#include "questions/missing_source.h"
#include "questions/questions.h"
#include "questions/streams.h"

namespace kvet::questions {

// What this capture can tell at all.
struct DispatchSources {
  bool device = false;     // executions: from CUPTI, or imported
  bool scheduler = false;  // off-CPU intervals
  bool reasons = false;    // and why, and who woke the thread up
  bool synchronising_calls = false;
};
[[nodiscard]] DispatchSources dispatch_sources(const Capture& capture);

// Why something of these is missing, and how to get it.
inline constexpr const char* needs_device_reason = "what ran on the device is not recorded in this tier";
inline constexpr const char* needs_device_advice = "It needs the device tier: `kvet record -- CMD` with privileges";
[[nodiscard]] Missing no_scheduler(const Capture& capture);
[[nodiscard]] Missing no_reasons();

struct DispatchContext {
  const Capture& capture;
  DispatchSources sources;
  std::string subject;  // label of K
};

// One thread and its launches of K (pointers into Launches, by start).
struct Dispatcher {
  const DispatchThread* thread = nullptr;
  std::string label;  // "thread 4711 of python"
  std::vector<const Launch*> eager, graph;
  bool one_stream = false;  // its process used a single stream: nothing but the predecessor can hold work up
};

// Launch cost of these calls; on and off CPU where the scheduler is known. `way`: "eager" or "graph".
void append_launch_cost(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher,
                        const std::string& way, const std::vector<uint32_t>& calls);
// Lead and start delay of these launches.
void append_timing(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher,
                   const std::string& way, const std::vector<const Launch*>& launches);
// How the thread spent its active span: off the CPU by reason, waiting for the GPU.
void append_thread_time(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher);
// From the device's last end to the return of the call that waited for it, and on to the next launch. `ends`: of all work
// of the thread's process, sorted.
void append_sync_bubble(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher,
                        const std::vector<int64_t>& ends);
// Launches of K that waited since the queue to the device was full.
void append_back_pressure(std::vector<Finding>& findings, const DispatchContext& context,
                          const std::vector<Dispatcher>& dispatchers);
// Who had the CPU while these threads were preempted, or waited for one after a wake-up.
void append_cpu_takers(std::vector<Finding>& findings, const DispatchContext& context,
                       const std::vector<Dispatcher>& dispatchers);

}  // namespace kvet::questions
