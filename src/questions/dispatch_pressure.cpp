// Dispatch: launches that waited since the queue to the device was full. The dispatcher is then as far ahead as it can be:
// no fault, but the time is inside its launch calls, and launch cost shows it.
#include <fmt/core.h>

#include <map>
#include <unordered_map>

#include "questions/dispatch_out.h"

namespace kvet::questions {

void append_back_pressure(std::vector<Finding>& findings, const DispatchContext& context,
                          const std::vector<Dispatcher>& dispatchers) {
  const Capture& capture = context.capture;
  struct Waits {
    double time = 0;
    uint64_t times = 0;
  };
  std::unordered_map<uint64_t, Waits> by_launch;  // by correlation
  uint64_t without_launch = 0;
  for (const ApiCall& call : capture.api_calls) {
    if (call.kind != ApiKind::wait_for_queue) {
      continue;
    }
    if (call.correlation_id == 0) {
      ++without_launch;
      continue;
    }
    Waits& waits = by_launch[correlation_key(call.process, call.correlation_id)];
    waits.time += static_cast<double>(call.end_ns - call.start_ns);
    ++waits.times;
  }
  if (by_launch.empty() && capture.fact("inject.queue_waits") != "1") {
    findings.push_back(
        unavailable(Question::dispatch, "dispatch.back_pressure", context.subject, "count",
                    "this recording does not tell of launches that wait for room in the queue",
                    "It needs `kvet record -- CMD` with the libcupti of CUDA 12.4 or newer in the target"));
    return;
  }
  const std::string unknown =
      without_launch == 0 ? "" : fmt::format("; {} more waits name no launch: a lower bound", without_launch);
  for (const Dispatcher& dispatcher : dispatchers) {
    Out out(findings, context, dispatcher);
    Waits sum;
    uint64_t launches = 0, waited = 0;
    for (const auto* way : {&dispatcher.eager, &dispatcher.graph}) {
      for (const Launch* launch : *way) {
        ++launches;
        const ApiCall& call = capture.api_calls[*launch->call];
        if (const auto found = by_launch.find(correlation_key(call.process, call.correlation_id));
            found != by_launch.end()) {
          ++waited;
          sum.time += found->second.time;
        }
      }
    }
    const Evidence evidence = without_launch == 0 ? Evidence::measured : Evidence::attributed;
    out.value("back_pressure", static_cast<double>(waited), "count", launches,
              fmt::format("Launches of this kernel that waited since the queue to the device was full{}", unknown),
              evidence);
    out.value("back_pressure.time", sum.time, "ns", waited,
              fmt::format("Time that these launches waited for room in the queue{}", unknown), evidence);
  }
}

}  // namespace kvet::questions
