// Dispatch, seen from the thread: how it spent its time, and how long it took to come back from waiting for the device.
#include <fmt/core.h>

#include <algorithm>

#include "questions/dispatch_out.h"

namespace kvet::questions {
namespace {

constexpr Activity off_cpu_reasons[] = {
    Activity::preempted, Activity::waiting_for_cpu, Activity::throttled, Activity::futex,      Activity::poll,
    Activity::io,        Activity::sleep,           Activity::other,     Activity::unexplained};

}  // namespace

void append_thread_time(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher) {
  Out out(findings, context, dispatcher);
  const DispatchThread& thread = *dispatcher.thread;
  const int64_t span = thread.active.to - thread.active.from;
  const Breakdown parts = thread.breakdown(thread.active.from, thread.active.to);
  if (!context.sources.scheduler) {
    const Missing missing = no_scheduler(context.capture);
    out.missing("off_cpu.total", "ns", missing.reason, missing.advice);
    out.missing("off_cpu.share", "%", missing.reason, missing.advice);
  } else {
    const int64_t away = thread.off_cpu_within(thread.active.from, thread.active.to);
    const uint64_t intervals = static_cast<uint64_t>(std::ranges::count_if(thread.off_cpu, [&](const OffCpu* interval) {
      return interval->end_ns > thread.active.from && interval->start_ns < thread.active.to;
    }));
    out.value("off_cpu.total", static_cast<double>(away), "ns", intervals,
              "Time off the CPU between the thread's first and last CUDA call");
    out.value("off_cpu.share", percent(away, span), "%", intervals,
              "Part of that time in which the thread was off the CPU, whatever for");
    const char* beside_gpu = context.sources.synchronising_calls ? ", not counting calls that wait for the GPU" : "";
    for (Activity reason : off_cpu_reasons) {
      const int64_t time = parts[static_cast<size_t>(reason)];
      if (time > 0) {
        out.value(fmt::format("off_cpu.{}", activity_name(reason)), percent(time, span), "%", intervals,
                  fmt::format("Part of the time in which the thread {}{}", in_words(reason), beside_gpu));
      }
    }
  }
  if (!context.sources.synchronising_calls) {
    out.missing("gpu_wait.share", "%", "calls that wait for the GPU are not recorded in this tier",
                needs_device_advice);
    return;
  }
  const int64_t waiting = parts[static_cast<size_t>(Activity::waiting_for_gpu)];
  const uint64_t waits = thread.synchronising.spans().size();
  out.value("gpu_wait.total", static_cast<double>(waiting), "ns", waits,
            "Time inside calls that wait for the GPU, spinning or asleep. Not a fault: the dispatcher is ahead");
  out.value("gpu_wait.share", percent(waiting, span), "%", waits,
            "The same as part of the time between the thread's first and last CUDA call");
  if (context.sources.scheduler) {
    int64_t asleep = 0;
    for (const Span& wait : thread.synchronising.spans()) {
      asleep += thread.off_cpu_within(wait.from, wait.to);
    }
    out.value("gpu_wait.asleep", percent(asleep, waiting), "%", waits,
              "Part of the waiting that was off the CPU; the rest spins");
  }
}

void append_sync_bubble(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher,
                        const std::vector<int64_t>& ends) {
  Out out(findings, context, dispatcher);
  std::vector<double> to_return, to_launch;
  const std::vector<uint32_t>& calls = dispatcher.thread->calls;
  std::optional<int64_t>
      next_launch;  // start of the next launch after the call that is looked at: the walk goes backwards
  for (size_t position = calls.size(); position-- > 0;) {
    const ApiCall& call = context.capture.api_calls[calls[position]];
    if (is_launch(call.kind)) {
      next_launch = call.start_ns;
    } else if (is_synchronisation(call.kind)) {
      const auto after = std::upper_bound(ends.begin(), ends.end(), call.end_ns);
      // Work that ended before the call began was not waited for.
      if (after != ends.begin() && *std::prev(after) > call.start_ns) {
        to_return.push_back(static_cast<double>(call.end_ns - *std::prev(after)));
        if (next_launch) {
          to_launch.push_back(static_cast<double>(*next_launch - call.end_ns));
        }
      }
    }
  }
  const Evidence evidence = dispatcher.one_stream ? Evidence::measured : Evidence::attributed;
  const char* which =
      dispatcher.one_stream ? "" : " (which stream a call waited for is not recorded: the last end of any is taken)";
  if (to_return.empty()) {
    out.missing("sync_bubble.return", "ns", "the thread made no call during which work of its process ended", "");
    return;
  }
  out.distribution("sync_bubble.return",
                   fmt::format("From the device's last end to the return of the call that waited for it{}", which),
                   to_return, evidence);
  if (!to_launch.empty()) {
    out.distribution("sync_bubble.next_launch", "From the return of that call to the thread's next launch call",
                     to_launch, Evidence::measured);
  }
}

}  // namespace kvet::questions
