// Dispatch, seen from the thread and from the device: who waited for whom, how long and why.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "questions/dispatch_parts.h"
#include "questions/distribution.h"
#include "questions/make_finding.h"

namespace kvet::questions {
namespace {

constexpr Activity off_cpu_reasons[] = {
    Activity::preempted, Activity::waiting_for_cpu, Activity::throttled, Activity::futex, Activity::poll,
    Activity::io,        Activity::sleep,           Activity::other};
constexpr size_t takers_listed = 3;

const char* in_words(Activity activity) {
  switch (activity) {
    case Activity::running: return "ran: it had other work to do than to launch";
    case Activity::preempted: return "was preempted: runnable, and another thread took its CPU";
    case Activity::waiting_for_cpu: return "had been woken up and waited for a CPU";
    case Activity::throttled: return "was throttled: runnable, and its cgroup's CPU quota was used up";
    case Activity::futex: return "slept on a futex: a lock or a condition variable";
    case Activity::poll: return "slept in poll, select or epoll";
    case Activity::io: return "waited for input or output";
    case Activity::sleep: return "had asked to sleep";
    case Activity::other: return "was blocked elsewhere in the kernel";
    case Activity::waiting_for_gpu: return "was inside a call that waits for the GPU";
  }
  return "?";
}

double percent(auto part_ns, auto whole_ns) {
  const double part = static_cast<double>(part_ns), whole = static_cast<double>(whole_ns);
  return whole > 0 ? 100 * part / whole : 0;
}

class Out {
 public:
  Out(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher)
      : findings_(findings), context_(context), dispatcher_(dispatcher) {}

  void value(const std::string& id, double value, const char* unit, uint64_t observations, std::string sentence,
             Evidence evidence = Evidence::measured) {
    findings_.push_back(found(Question::dispatch, "dispatch." + id, context_.subject, value, unit, evidence,
                              observations, std::move(sentence)));
    findings_.back().beside = dispatcher_.label;
  }
  void missing(const std::string& id, const char* unit, std::string reason, std::string advice) {
    findings_.push_back(unavailable(Question::dispatch, "dispatch." + id, context_.subject, unit, std::move(reason),
                                    std::move(advice)));
    findings_.back().beside = dispatcher_.label;
  }
  void distribution(const std::string& id, std::string what, std::vector<double>& values, Evidence evidence) {
    append_distribution(findings_,
                        {Question::dispatch, "dispatch." + id, context_.subject, dispatcher_.label, std::move(what),
                         "ns", evidence, 0, 0},
                        values);
  }

 private:
  std::vector<Finding>& findings_;
  const DispatchContext& context_;
  const Dispatcher& dispatcher_;
};

using Sums = std::array<double, activity_count>;  // ns, by Activity

// What a dispatcher's launches left empty: a part of [ready, return) that no earlier launch has claimed.
struct Gap {
  int64_t from, to;
};

// The parts of [from, to) that are not busy.
std::vector<Span> idle_parts(const SpanSet& busy, int64_t from, int64_t to) {
  std::vector<Span> idle;
  auto span = std::ranges::upper_bound(busy.spans(), from, {}, &Span::to);  // the first that ends after `from`
  for (; span != busy.spans().end() && span->from < to; ++span) {
    if (span->from > from) {
      idle.push_back({from, span->from});
    }
    from = std::max(from, span->to);
  }
  if (from < to) {
    idle.push_back({from, to});
  }
  return idle;
}

}  // namespace

void append_thread_time(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher) {
  Out out(findings, context, dispatcher);
  const DispatchThread& thread = *dispatcher.thread;
  const int64_t span = thread.active.to - thread.active.from;
  const Breakdown parts = thread.breakdown(thread.active.from, thread.active.to);
  if (!context.sources.scheduler) {
    out.missing("off_cpu.total", "ns", needs_scheduler_reason, needs_scheduler_advice);
    out.missing("off_cpu.share", "%", needs_scheduler_reason, needs_scheduler_advice);
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

void append_starvation(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher,
                       const std::vector<SpanSet>& busy) {
  Out out(findings, context, dispatcher);
  std::vector<double> lengths;
  std::map<uint64_t, int64_t> stream_until;
  std::map<uint32_t, int64_t> device_until;
  // Sums over launches are floating point: a broken file must not overflow them, and 2^53 ns are 104 days.
  Sums of_stream{}, of_device{};
  double stream_total = 0, device_total = 0;
  uint64_t known = 0, on_device = 0;
  std::vector<const Launch*> launches = dispatcher.eager;
  launches.insert(launches.end(), dispatcher.graph.begin(), dispatcher.graph.end());
  std::erase_if(launches, [](const Launch* launch) { return !launch->ready_ns; });
  std::ranges::stable_sort(launches, {}, [](const Launch* launch) { return *launch->ready_ns; });
  for (const Launch* launch : launches) {
    ++known;
    const int64_t ready = *launch->ready_ns, returned = context.capture.api_calls[*launch->call].end_ns;
    if (returned <= ready) {
      continue;
    }
    lengths.push_back(static_cast<double>(returned - ready));
    auto add = [&](Sums& into, int64_t from, int64_t to) {
      const Breakdown parts = dispatcher.thread->breakdown(from, to);
      for (size_t activity = 0; activity < activity_count; ++activity) {
        into[activity] += static_cast<double>(parts[activity]);
      }
    };
    // No instant counts twice in a total: neither in one stream, nor, where several streams starve at once, on one device.
    auto claim = [&](auto& until, auto key) {
      auto [at, added] = until.try_emplace(key, ready);
      const int64_t from = std::max(ready, at->second);
      at->second = std::max(at->second, returned);
      return Gap{from, returned};
    };
    const Gap gap = claim(stream_until, launch->stream);
    if (gap.to > gap.from) {
      stream_total += static_cast<double>(gap.to - gap.from);
      add(of_stream, gap.from, gap.to);
    }
    const Gap free = claim(device_until, launch->device.value);
    if (free.to > free.from) {
      const std::vector<Span> idle = idle_parts(busy[launch->device.value], free.from, free.to);
      on_device += idle.empty() ? 0 : 1;
      for (const Span& part : idle) {
        device_total += static_cast<double>(part.to - part.from);
        add(of_device, part.from, part.to);
      }
    }
  }
  const Evidence evidence = dispatcher.one_stream ? Evidence::measured : Evidence::attributed;
  const char* bound =
      dispatcher.one_stream ? "" : " (waits for events of other streams are not recorded: an upper bound)";
  if (known == 0) {
    for (const char* id : {"starvation.stream.total", "starvation.device.total"}) {
      out.missing(id, "ns", "no launch was seen with earlier work in its stream", "Record for longer");
    }
    return;
  }
  const int64_t span = dispatcher.thread->active.to - dispatcher.thread->active.from;
  auto totals = [&](const std::string& id, double total, uint64_t launches_hit, const Sums& parts,
                    const std::string& what) {
    out.value(id + ".total", total, "ns", known,
              fmt::format("{}: {} of {} launches of this kernel came late{}", what, launches_hit, known, bound),
              evidence);
    out.value(id + ".share", percent(total, span), "%", known,
              "The same as part of the time between the thread's first and last CUDA call", evidence);
    if (total == 0) {
      return;
    }
    if (!context.sources.scheduler) {
      out.missing(id + ".by", "ns", needs_scheduler_reason, needs_scheduler_advice);
      return;
    }
    for (size_t activity = 0; activity < activity_count; ++activity) {
      if (parts[activity] > 0) {
        const auto which = static_cast<Activity>(activity);
        out.value(fmt::format("{}.by.{}", id, activity_name(which)), parts[activity], "ns", launches_hit,
                  fmt::format("The part of it in which the thread {}", in_words(which)), evidence);
      }
    }
  };
  const uint64_t late = lengths.size();
  if (!lengths.empty()) {
    out.distribution(
        "starvation.stream",
        fmt::format("From the moment the stream was ready to the return of the launch call, where that came later{}",
                    bound),
        lengths, evidence);
  }
  totals("starvation.stream", stream_total, late, of_stream,
         "The stream was ready and had nothing to run, other streams busy or not");
  totals("starvation.device", device_total, on_device, of_device,
         "The part of it in which the device ran no kernel, copy or memset of anybody");
}

void append_cpu_takers(std::vector<Finding>& findings, const DispatchContext& context,
                       const std::vector<Dispatcher>& dispatchers) {
  if (!context.sources.scheduler) {
    findings.push_back(unavailable(Question::dispatch, "dispatch.cpu_taker", context.subject, "ns",
                                   needs_scheduler_reason, needs_scheduler_advice));
    return;
  }
  struct Taken {
    double time = 0;
    uint64_t times = 0;
  };
  std::map<std::pair<std::string, int32_t>, Taken> takers;
  double total = 0;
  for (const Dispatcher& dispatcher : dispatchers) {
    const DispatchThread& thread = *dispatcher.thread;
    for (const OffCpu* interval : thread.off_cpu) {
      const int64_t from = std::max(interval->start_ns, thread.active.from),
                    to = std::min(interval->end_ns, thread.active.to);
      if (interval->reason == OffCpuReason::preempted && to > from) {
        Taken& taken = takers[{context.capture.text(interval->taker_name), interval->taker_thread_id}];
        taken.time += static_cast<double>(to - from);
        ++taken.times;
        total += static_cast<double>(to - from);
      }
    }
  }
  std::vector<std::pair<std::pair<std::string, int32_t>, Taken>> order(takers.begin(), takers.end());
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  if (order.empty()) {
    findings.push_back(found(Question::dispatch, "dispatch.cpu_taker", context.subject, 0, "ns", Evidence::measured, 0,
                             "Nobody took the CPU from the dispatcher: it was never preempted"));
    return;
  }
  for (size_t index = 0; index < std::min(order.size(), takers_listed); ++index) {
    const auto& [who, taken] = order[index];
    Finding finding = found(
        Question::dispatch, "dispatch.cpu_taker", context.subject, taken.time, "ns", Evidence::measured, taken.times,
        fmt::format("Took the CPU from the dispatcher {} times, {:.0f}% of the time in which it was preempted",
                    taken.times, percent(taken.time, total)));
    finding.beside = fmt::format("{} ({})", who.first.empty() ? "a thread without name" : who.first, who.second);
    findings.push_back(std::move(finding));
  }
}

}  // namespace kvet::questions
