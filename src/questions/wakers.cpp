#include "questions/wakers.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "questions/dispatch_out.h"

namespace kvet::questions {
namespace {

// A request passes a handful of threads. Each step only divides the time of the one before, so the bound is for files that
// are broken, not for the cost.
constexpr int deepest_chain = 16;
constexpr size_t causes_listed = 3;

bool blocks(const OffCpu& interval) {
  return interval.reason != OffCpuReason::preempted && interval.reason != OffCpuReason::throttled &&
         interval.reason != OffCpuReason::unexplained;
}

std::vector<ThreadKey> all_threads(const Capture& capture) {
  std::set<ThreadKey> keys;
  for (const OffCpu& interval : capture.off_cpu) {
    keys.emplace(interval.process.value, interval.thread_id);
  }
  std::optional<ThreadKey> last;  // calls of one thread come in runs
  for (const ApiCall& call : capture.api_calls) {
    const ThreadKey key{call.process.value, call.thread_id};
    if (last != key) {
      keys.insert(key);
      last = key;
    }
  }
  return {keys.begin(), keys.end()};
}

// "ran 80%, asked to sleep 20%": what it did most, first.
std::string spent_in_words(const WakeChains::Part& part) {
  std::vector<std::pair<double, Activity>> order;
  for (size_t activity = 0; activity < activity_count; ++activity) {
    if (part.spent[activity] > 0) {
      order.emplace_back(percent(part.spent[activity], part.total()), static_cast<Activity>(activity));
    }
  }
  std::ranges::sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [share, activity] : order) {
    if (share >= 1) {
      text += fmt::format("{}{} {:.0f}%", text.empty() ? "" : ", ", activity_name(activity), share);
    }
  }
  return text;
}

}  // namespace

double WakeChains::Part::total() const { return std::accumulate(spent.begin(), spent.end(), 0.0); }

WakeChains::WakeChains(const Capture& capture) : threads_(dispatch_threads(capture, all_threads(capture))) {
  for (const auto& [key, thread] : threads_) {
    by_thread_id_[key.second].push_back(key);
  }
}

void WakeChains::add(Causes& causes, const ThreadKey& thread, int64_t from, int64_t to) const {
  follow(causes, thread, from, to, 0);
}

void WakeChains::follow(Causes& causes, const ThreadKey& key, int64_t from, int64_t to, int depth) const {
  const auto found = threads_.find(key);
  if (found == threads_.end() || to <= from) {
    return;
  }
  const DispatchThread& thread = found->second;
  const auto own = [&](int64_t begin, int64_t end) {
    if (depth == 0 || end <= begin) {
      return;  // what a dispatcher did itself is in its own figures
    }
    Part& part = causes[key];
    const Breakdown spent = thread.breakdown(begin, end);
    for (size_t activity = 0; activity < activity_count; ++activity) {
      part.spent[activity] += static_cast<double>(spent[activity]);
    }
    ++part.times;
  };
  auto interval = std::ranges::lower_bound(thread.off_cpu, from, {}, &OffCpu::start_ns);
  if (interval != thread.off_cpu.begin()) {
    --interval;  // it may reach into the time
  }
  int64_t at = from;
  for (; interval != thread.off_cpu.end() && (*interval)->start_ns < to; ++interval) {
    const int64_t begin = std::max((*interval)->start_ns, at), end = std::min((*interval)->wake_ns, to);
    if (end <= begin || !blocks(**interval) || thread.synchronising.covered(begin, end) > 0 || depth == deepest_chain) {
      continue;
    }
    const auto wakers = by_thread_id_.find((*interval)->waker_thread_id);
    if ((*interval)->waker_thread_id == 0 || (*interval)->waker_thread_id == key.second ||
        wakers == by_thread_id_.end()) {
      continue;
    }
    // Thread ids are used again: one of the same process is the likelier.
    const auto same = std::ranges::find(wakers->second, key.first, &ThreadKey::first);
    own(at, begin);
    follow(causes, same != wakers->second.end() ? *same : wakers->second.front(), begin, end, depth + 1);
    at = end;
  }
  own(at, to);
}

void append_wakers(std::vector<Finding>& findings, const DispatchContext& context,
                   const std::vector<Dispatcher>& dispatchers, const std::vector<std::vector<Span>>& gaps) {
  constexpr const char* id = "dispatch.starvation.cause";
  if (!context.sources.reasons) {
    const Missing missing = context.sources.scheduler ? no_reasons() : no_scheduler(context.capture);
    findings.push_back(unavailable(Question::dispatch, id, context.subject, "ns", missing.reason, missing.advice));
    return;
  }
  // The index of all threads takes a pass over the capture: only where somebody woke a dispatcher at all.
  const bool woken = std::ranges::any_of(dispatchers, [](const Dispatcher& dispatcher) {
    return std::ranges::any_of(dispatcher.thread->off_cpu,
                               [](const OffCpu* interval) { return interval->waker_thread_id != 0; });
  });
  const auto chains = woken ? std::optional<WakeChains>(context.capture) : std::nullopt;
  WakeChains::Causes causes;
  double starved = 0;
  for (size_t index = 0; index < dispatchers.size(); ++index) {
    for (const Span& gap : gaps[index]) {
      starved += static_cast<double>(gap.to - gap.from);
      if (chains) {
        chains->add(causes, dispatchers[index].thread->key, gap.from, gap.to);
      }
    }
  }
  std::vector<std::pair<ThreadKey, WakeChains::Part>> order(causes.begin(), causes.end());
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second.total() > b.second.total(); });
  if (order.empty()) {
    findings.push_back(found(Question::dispatch, id, context.subject, 0, "ns", Evidence::measured, 0,
                             "No chain of wake-ups shows another recorded thread that kept a dispatcher waiting"));
    return;
  }
  for (size_t index = 0; index < std::min(order.size(), causes_listed); ++index) {
    const auto& [key, part] = order[index];
    Finding finding =
        found(Question::dispatch, id, context.subject, part.total(), "ns", Evidence::measured, part.times,
              fmt::format("Stream starvation in which a dispatcher was blocked and, by the chain of wake-ups, "
                          "waited for this thread: {:.0f}% of all. Meanwhile the thread did: {}",
                          percent(part.total(), starved), spent_in_words(part)));
    finding.beside = thread_label(context.capture, key);
    findings.push_back(std::move(finding));
  }
}

}  // namespace kvet::questions
