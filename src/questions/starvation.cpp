#include "questions/starvation.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "questions/dispatch_out.h"

namespace kvet::questions {

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

Starvation starvation_of(const Capture& capture, const Dispatcher& dispatcher, const std::vector<SpanSet>& busy) {
  Starvation result;
  std::map<uint64_t, int64_t> stream_until;
  std::map<uint32_t, int64_t> device_until;
  std::vector<const Launch*> launches = dispatcher.eager;
  launches.insert(launches.end(), dispatcher.graph.begin(), dispatcher.graph.end());
  std::erase_if(launches, [](const Launch* launch) { return !launch->ready_ns; });
  std::ranges::stable_sort(launches, {}, [](const Launch* launch) { return *launch->ready_ns; });
  for (const Launch* launch : launches) {
    ++result.launches;
    const int64_t ready = *launch->ready_ns, returned = capture.api_calls[*launch->call].end_ns;
    if (returned <= ready) {
      continue;
    }
    result.lengths.push_back(static_cast<double>(returned - ready));
    // The part of [ready, return) that no earlier launch has claimed.
    auto claim = [&](auto& until, auto key) {
      auto [at, added] = until.try_emplace(key, ready);
      const int64_t from = std::max(ready, at->second);
      at->second = std::max(at->second, returned);
      return Span{from, returned};
    };
    if (const Span gap = claim(stream_until, launch->stream); gap.to > gap.from) {
      result.streams.push_back(gap);
    }
    if (const Span free = claim(device_until, launch->device.value); free.to > free.from) {
      const std::vector<Span> idle = idle_parts(busy[launch->device.value], free.from, free.to);
      result.launches_device += idle.empty() ? 0 : 1;
      result.devices.insert(result.devices.end(), idle.begin(), idle.end());
    }
  }
  return result;
}

void append_starvation(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher,
                       const Starvation& starvation) {
  Out out(findings, context, dispatcher);
  const Evidence evidence = dispatcher.one_stream ? Evidence::measured : Evidence::attributed;
  const char* bound =
      dispatcher.one_stream ? "" : " (waits for events of other streams are not recorded: an upper bound)";
  if (starvation.launches == 0) {
    for (const char* id : {"starvation.stream.total", "starvation.device.total"}) {
      out.missing(id, "ns", "no launch was seen with earlier work in its stream", "Record for longer");
    }
    return;
  }
  const int64_t span = dispatcher.thread->active.to - dispatcher.thread->active.from;
  auto totals = [&](const std::string& id, const std::vector<Span>& gaps, uint64_t launches_hit,
                    const std::string& what) {
    // Sums over launches are floating point: a broken file must not overflow them, and 2^53 ns are 104 days.
    std::array<double, activity_count> parts{};
    double total = 0;
    for (const Span& gap : gaps) {
      total += static_cast<double>(gap.to - gap.from);
      const Breakdown spent = dispatcher.thread->breakdown(gap.from, gap.to);
      for (size_t activity = 0; activity < activity_count; ++activity) {
        parts[activity] += static_cast<double>(spent[activity]);
      }
    }
    out.value(
        id + ".total", total, "ns", starvation.launches,
        fmt::format("{}: {} of {} launches of this kernel came late{}", what, launches_hit, starvation.launches, bound),
        evidence);
    out.value(id + ".share", percent(total, span), "%", starvation.launches,
              "The same as part of the time between the thread's first and last CUDA call", evidence);
    if (total == 0) {
      return;
    }
    if (!context.sources.scheduler) {
      const Missing missing = no_scheduler(context.capture);
      out.missing(id + ".by", "ns", missing.reason, missing.advice);
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
  if (std::vector<double> lengths = starvation.lengths; !lengths.empty()) {
    out.distribution(
        "starvation.stream",
        fmt::format("From the moment the stream was ready to the return of the launch call, where that came later{}",
                    bound),
        lengths, evidence);
  }
  totals("starvation.stream", starvation.streams, starvation.lengths.size(),
         "The stream was ready and had nothing to run, other streams busy or not");
  totals("starvation.device", starvation.devices, starvation.launches_device,
         "The part of it in which the device ran no kernel, copy or memset of anybody");
}

}  // namespace kvet::questions
