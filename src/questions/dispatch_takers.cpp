// Dispatch: who had the CPU while a dispatcher could have run.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "questions/dispatch_out.h"

namespace kvet::questions {
namespace {

constexpr size_t takers_listed = 3;

struct Taken {
  double time = 0;
  uint64_t times = 0;
};
// Name and thread id of who had the CPU; id 0: nobody who was seen.
using Takers = std::map<std::pair<std::string, int32_t>, Taken>;

void add(Takers& takers, const Capture& capture, const OffCpu& interval, int64_t from, int64_t to) {
  if (to > from) {
    Taken& taken = takers[{capture.text(interval.taker_name), interval.taker_thread_id}];
    taken.time += static_cast<double>(to - from);
    ++taken.times;
  }
}

std::string taker_label(const std::pair<std::string, int32_t>& who) {
  return fmt::format("{} ({})", who.first.empty() ? "a thread without name" : who.first, who.second);
}

// The largest of them. `what`: "Took the CPU from the dispatcher"; `whole`: "in which it was preempted".
void append_largest(std::vector<Finding>& findings, const DispatchContext& context, const char* id,
                    const Takers& takers, const char* what, const char* whole, const char* nobody) {
  double total = 0;
  std::vector<std::pair<std::pair<std::string, int32_t>, Taken>> order;
  for (const auto& [who, taken] : takers) {
    total += taken.time;
    if (who.second != 0) {
      order.emplace_back(who, taken);
    }
  }
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  if (order.empty()) {
    findings.push_back(found(Question::dispatch, id, context.subject, 0, "ns", Evidence::measured, 0, nobody));
    return;
  }
  for (size_t index = 0; index < std::min(order.size(), takers_listed); ++index) {
    const auto& [who, taken] = order[index];
    Finding finding =
        found(Question::dispatch, id, context.subject, taken.time, "ns", Evidence::measured, taken.times,
              fmt::format("{} {} times, {:.0f}% of the time {}", what, taken.times, percent(taken.time, total), whole));
    finding.beside = taker_label(who);
    findings.push_back(std::move(finding));
  }
}

}  // namespace

void append_cpu_takers(std::vector<Finding>& findings, const DispatchContext& context,
                       const std::vector<Dispatcher>& dispatchers) {
  if (!context.sources.reasons) {
    const Missing missing = context.sources.scheduler ? no_reasons() : no_scheduler(context.capture);
    for (const char* id : {"dispatch.cpu_taker", "dispatch.cpu_holder"}) {
      findings.push_back(unavailable(Question::dispatch, id, context.subject, "ns", missing.reason, missing.advice));
    }
    return;
  }
  Takers takers, holders;
  for (const Dispatcher& dispatcher : dispatchers) {
    const Span& active = dispatcher.thread->active;
    for (const OffCpu* interval : dispatcher.thread->off_cpu) {
      const int64_t to = std::min(interval->end_ns, active.to);
      if (interval->reason == OffCpuReason::preempted) {
        add(takers, context.capture, *interval, std::max(interval->start_ns, active.from), to);
      } else if (interval->reason != OffCpuReason::throttled) {
        add(holders, context.capture, *interval, std::max(interval->wake_ns, active.from), to);
      }
    }
  }
  append_largest(findings, context, "dispatch.cpu_taker", takers, "Took the CPU from the dispatcher",
                 "in which it was preempted", "Nobody took the CPU from the dispatcher: it was never preempted");
  append_largest(findings, context, "dispatch.cpu_holder", holders, "Had the CPU when the dispatcher had been woken up",
                 "in which it waited for a CPU after a wake-up",
                 "Nobody was seen to have the CPU when the dispatcher was woken up");
}

}  // namespace kvet::questions
