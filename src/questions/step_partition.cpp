#include "questions/step_partition.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>

#include "questions/dispatch_out.h"
#include "questions/nccl_parts.h"
#include "questions/starvation.h"
#include "questions/timeline.h"

namespace kvet::questions {
namespace {

SpanSet both(const SpanSet& a, const SpanSet& b) {
  std::vector<Span> spans = a.spans();
  spans.insert(spans.end(), b.spans().begin(), b.spans().end());
  return SpanSet{std::move(spans)};
}

// Adds up what the steps hold of each part.
class Sums {
 public:
  void add(const std::string& part, int64_t time_ns) {
    if (time_ns > 0) {
      parts_[part] += static_cast<double>(time_ns);
    }
  }
  [[nodiscard]] const std::map<std::string, double>& parts() const { return parts_; }

 private:
  std::map<std::string, double> parts_;
};

// What the thread did in [from, to), in which the device was idle.
void add_idle(Sums& sums, const DispatchContext& context, const DispatchThread& thread, const SpanSet& launching,
              int64_t from, int64_t to) {
  const Breakdown spent = thread.breakdown(from, to);
  const auto running = static_cast<size_t>(Activity::running);
  int64_t in_launch = 0;
  auto call = std::ranges::upper_bound(launching.spans(), from, {}, &Span::to);
  for (; call != launching.spans().end() && call->from < to; ++call) {
    in_launch += thread.breakdown(std::max(call->from, from), std::min(call->to, to))[running];
  }
  for (size_t activity = 0; activity < activity_count; ++activity) {
    if (activity != running) {
      sums.add(fmt::format("idle.{}", activity_name(static_cast<Activity>(activity))), spent[activity]);
    }
  }
  sums.add("idle.launching", in_launch);
  // Without the scheduler a thread that sleeps looks as one that runs.
  sums.add(context.sources.scheduler ? "idle.running" : "idle.unknown", spent[running] - in_launch);
}

std::string sentence_of(const std::string& part) {
  static const std::map<std::string, const char*> sentences = {
      {"kernel.alone", "This kernel ran, without siblings"},
      {"kernel.beside", "This kernel ran beside siblings"},
      {"other_kernels", "Other kernels ran, and not this one"},
      {"collectives", "Only collectives ran, with or without copies"},
      {"copies", "Only copies and memsets ran"},
      {"idle.launching", "The device was idle, and the dispatcher was running inside a launch call"},
      {"idle.running", "The device was idle, and the dispatcher was running, outside launch calls"},
      {"idle.unknown", "The device was idle, and what the dispatcher did is not known without the scheduler"},
  };
  if (const auto found = sentences.find(part); found != sentences.end()) {
    return found->second;
  }
  for (size_t activity = 0; activity < activity_count; ++activity) {
    if (part == fmt::format("idle.{}", activity_name(static_cast<Activity>(activity)))) {
      return fmt::format("The device was idle, and the dispatcher {}", in_words(static_cast<Activity>(activity)));
    }
  }
  return part;
}

}  // namespace

DeviceParts device_parts(const Capture& capture, const KernelSet& kernels, DeviceId device) {
  std::vector<Span> mine, others, collectives, copies;
  for (const Execution& execution : capture.executions) {
    if (execution.device == device) {
      auto& into = kernels.contains(execution.shape)                      ? mine
                   : is_nccl_kernel(capture.kernel_name(execution.shape)) ? collectives
                                                                          : others;
      into.push_back({execution.start_ns, execution.end_ns});
    }
  }
  for (const Transfer& transfer : capture.transfers) {
    if (transfer.device == device) {
      copies.push_back({transfer.start_ns, transfer.end_ns});
    }
  }
  SpanSet with_sibling;
  for (const DeviceTimeline& timeline : timelines(capture, kernels)) {
    if (timeline.device == device) {
      with_sibling = timeline.beside;
    }
  }
  DeviceParts parts;
  parts.busy = SpanSet{std::move(mine)};
  parts.beside = intersection(parts.busy, with_sibling);
  parts.alone = difference(parts.busy, parts.beside);
  const auto next = [&](SpanSet& part, std::vector<Span> spans) {
    part = difference(SpanSet{std::move(spans)}, parts.busy);
    parts.busy = both(parts.busy, part);
  };
  next(parts.others, std::move(others));
  next(parts.collectives, std::move(collectives));
  next(parts.copies, std::move(copies));
  return parts;
}

void append_step_partition(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher,
                           const Steps& steps, const DeviceParts& device) {
  Out out(findings, context, dispatcher);
  // The last one has no end where it would end with the next.
  std::vector<Span> spans;
  if (const auto found = steps.spans.find(dispatcher.thread->key.first); found != steps.spans.end()) {
    std::ranges::copy_if(found->second, std::back_inserter(spans),
                         [](const Span& span) { return span.to != std::numeric_limits<int64_t>::max(); });
  }
  if (spans.empty()) {
    out.missing("step.wall", "ns",
                steps.by == Steps::By::none ? steps.how : "the steps that were found are of other processes",
                "Record for longer, or mark the steps with NVTX ranges");
    return;
  }
  std::vector<Span> calls;
  for (uint32_t index : dispatcher.thread->calls) {
    const ApiCall& call = context.capture.api_calls[index];
    if (is_launch(call.kind)) {
      calls.push_back({call.start_ns, call.end_ns});
    }
  }
  const SpanSet launching{std::move(calls)};
  Sums sums;
  std::vector<double> walls;
  double total = 0;
  for (const Span& step : spans) {
    walls.push_back(static_cast<double>(step.to - step.from));
    total += walls.back();
    sums.add("kernel.alone", device.alone.covered(step.from, step.to));
    sums.add("kernel.beside", device.beside.covered(step.from, step.to));
    sums.add("other_kernels", device.others.covered(step.from, step.to));
    sums.add("collectives", device.collectives.covered(step.from, step.to));
    sums.add("copies", device.copies.covered(step.from, step.to));
    for (const Span& idle : idle_parts(device.busy, step.from, step.to)) {
      add_idle(sums, context, *dispatcher.thread, launching, idle.from, idle.to);
    }
  }
  const auto count = static_cast<double>(walls.size());
  out.value("step.wall", total / count, "ns", walls.size(),
            fmt::format("Wall time of a step, mean; the parts add up to it. Steps: {}", steps.how));
  out.distribution("step.wall", "Wall time of a step", walls, Evidence::measured);
  for (const auto& [part, time] : sums.parts()) {
    out.value("step.part." + part, time / count, "ns", walls.size(),
              fmt::format("{}: {:.1f}% of the step", sentence_of(part), percent(time, total)));
  }
}

}  // namespace kvet::questions
