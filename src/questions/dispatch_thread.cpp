#include "questions/dispatch_thread.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "questions/streams.h"

namespace kvet::questions {
namespace {

Activity activity_of(OffCpuReason reason) {
  switch (reason) {
    case OffCpuReason::preempted: return Activity::preempted;
    case OffCpuReason::throttled: return Activity::throttled;
    case OffCpuReason::futex: return Activity::futex;
    case OffCpuReason::poll: return Activity::poll;
    case OffCpuReason::io: return Activity::io;
    case OffCpuReason::sleep: return Activity::sleep;
    case OffCpuReason::other: return Activity::other;
    case OffCpuReason::unexplained: return Activity::unexplained;
  }
  return Activity::other;
}

}  // namespace

const char* activity_name(Activity activity) {
  switch (activity) {
    case Activity::running: return "running";
    case Activity::preempted: return "preempted";
    case Activity::waiting_for_cpu: return "waiting_for_cpu";
    case Activity::throttled: return "throttled";
    case Activity::futex: return "futex";
    case Activity::poll: return "poll";
    case Activity::io: return "io";
    case Activity::sleep: return "sleep";
    case Activity::other: return "other";
    case Activity::unexplained: return "unexplained";
    case Activity::waiting_for_gpu: return "waiting_for_gpu";
  }
  return "?";
}

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
    case Activity::unexplained:
      return "was off the CPU: the imported file does not say whether it was blocked or preempted";
    case Activity::waiting_for_gpu: return "was inside a call that waits for the GPU";
  }
  return "?";
}

std::string thread_label(const Capture& capture, const ThreadKey& key) {
  const Process* process = key.first < capture.processes.size() ? &capture.processes[key.first] : nullptr;
  const std::string name = process != nullptr ? capture.text(process->name) : "";
  return fmt::format("thread {} of {}", key.second,
                     name.empty() ? fmt::format("process {}", process != nullptr ? process->pid : 0) : name);
}

void DispatchThread::finish(const Capture& capture) {
  std::vector<Span> waits;
  if (!calls.empty()) {
    active = {capture.api_calls[calls.front()].start_ns, capture.api_calls[calls.front()].end_ns};
  }
  for (uint32_t index : calls) {
    const ApiCall& call = capture.api_calls[index];
    active.to = std::max(active.to, call.end_ns);
    if (is_synchronisation(call.kind)) {
      waits.push_back({call.start_ns, call.end_ns});
    }
  }
  synchronising = SpanSet{std::move(waits)};

  std::vector<Span> away;
  int64_t until = std::numeric_limits<int64_t>::min();
  auto add = [&](const OffCpu* interval, int64_t from, int64_t to, Activity activity) {
    from = std::max(from, until);  // a thread is off the CPU once at a time; overlaps can only come from a broken file
    if (to > from) {
      pieces_.push_back({from, to, activity, interval});
      away.push_back({from, to});
      until = to;
    }
  };
  for (const OffCpu* interval : off_cpu) {
    const Activity activity = activity_of(interval->reason);
    if (activity == Activity::preempted || activity == Activity::throttled) {
      add(interval, interval->start_ns, interval->end_ns, activity);
    } else {
      const int64_t wake =
          std::clamp(interval->wake_ns, interval->start_ns, std::max(interval->start_ns, interval->end_ns));
      add(interval, interval->start_ns, wake, activity);
      add(interval, wake, interval->end_ns, Activity::waiting_for_cpu);
    }
  }
  off_cpu_spans_ = SpanSet{std::move(away)};
}

Breakdown DispatchThread::breakdown(int64_t from, int64_t to) const {
  Breakdown parts{};
  if (to <= from) {
    return parts;
  }
  int64_t rest = to - from;
  auto take = [&](Activity activity, int64_t amount) {
    parts[static_cast<size_t>(activity)] += amount;
    rest -= amount;
  };
  take(Activity::waiting_for_gpu, synchronising.covered(from, to));
  auto piece =
      std::upper_bound(pieces_.begin(), pieces_.end(), from, [](int64_t time, const Piece& p) { return time < p.to; });
  for (; piece != pieces_.end() && piece->from < to; ++piece) {
    const int64_t begin = std::max(piece->from, from), end = std::min(piece->to, to);
    take(piece->activity, end - begin - synchronising.covered(begin, end));
  }
  take(Activity::running, rest);
  return parts;
}

std::map<ThreadKey, DispatchThread> dispatch_threads(const Capture& capture, const std::vector<ThreadKey>& wanted) {
  std::map<ThreadKey, DispatchThread> threads;
  for (const ThreadKey& key : wanted) {
    threads[key].key = key;
  }
  for (uint32_t index = 0; index < capture.api_calls.size(); ++index) {
    const ApiCall& call = capture.api_calls[index];
    if (auto thread = threads.find({call.process.value, call.thread_id}); thread != threads.end()) {
      thread->second.calls.push_back(index);
    }
  }
  for (const OffCpu& interval : capture.off_cpu) {
    if (auto thread = threads.find({interval.process.value, interval.thread_id}); thread != threads.end()) {
      thread->second.off_cpu.push_back(&interval);
    }
  }
  for (auto& [key, thread] : threads) {
    thread.finish(capture);
  }
  return threads;
}

}  // namespace kvet::questions
