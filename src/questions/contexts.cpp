#include "questions/contexts.h"

#include <algorithm>

namespace kvet::questions {
namespace {

// Green contexts are made from a plain one, never from each other. A file may say anything.
constexpr int most_generations = 4;
constexpr double least_switching = 0.01;

}  // namespace

SharingGroups::SharingGroups(const Capture& capture) {
  for (const Context& context : capture.contexts) {
    contexts_.insert_or_assign({context.process.value, context.context_id}, &context);
  }
}

const Context* SharingGroups::find(Key key) const {
  const auto found = contexts_.find(key);
  return found == contexts_.end() ? nullptr : found->second;
}

uint32_t SharingGroups::of(ProcessId process, uint32_t context_id) {
  const auto [known, is_new] = known_.try_emplace({process.value, context_id});
  if (!is_new) {
    return known->second;
  }
  Key root{process.value, context_id};
  ContextSharing sharing = ContextSharing::unknown;
  const Context* context = find(root);
  for (int generation = 0; context != nullptr; context = find(root), ++generation) {
    if (context->sharing != ContextSharing::unknown) {
      sharing = context->sharing;
    }
    if (!context->green || context->parent_context_id == 0 || generation == most_generations) {
      break;
    }
    root.second = context->parent_context_id;
  }
  const bool mps = sharing == ContextSharing::mps;
  const auto next = static_cast<uint32_t>(groups_.size());
  known->second = groups_.try_emplace({mps, mps ? Key{} : root}, next).first->second;
  return known->second;
}

SpanSet groups_under_way(const Capture& capture, DeviceId device) {
  SharingGroups groups{capture};
  std::vector<std::vector<Span>> by_group;
  for (const Execution& execution : capture.executions) {
    if (execution.device == device) {
      const uint32_t group = groups.of(execution.process, execution.context_id);
      by_group.resize(std::max<size_t>(by_group.size(), group + 1));
      by_group[group].push_back({execution.start_ns, execution.end_ns});
    }
  }
  if (by_group.size() < 2) {
    return {};
  }
  struct Change {
    int64_t time;
    int by;
  };
  std::vector<Change> changes;
  for (std::vector<Span>& spans : by_group) {
    const SpanSet under_way{std::move(spans)};
    for (const Span& span : under_way.spans()) {
      changes.push_back({span.from, 1});
      changes.push_back({span.to, -1});
    }
  }
  std::ranges::sort(changes, {}, &Change::time);
  std::vector<Span> several;
  int running = 0;
  int64_t since = 0;
  for (const Change& change : changes) {
    if (running > 1) {
      several.push_back({since, change.time});
    }
    running += change.by;
    since = change.time;
  }
  return SpanSet{std::move(several)};
}

SpanSet switching_samples(const Capture& capture, DeviceId device) {
  std::vector<Span> spans;
  for (const Sample& sample : capture.samples) {
    if (sample.device == device && sample.context_switch_cycles && sample.cycles_elapsed &&
        *sample.cycles_elapsed > 0 && *sample.context_switch_cycles >= least_switching * *sample.cycles_elapsed) {
      spans.push_back({sample.start_ns, sample.end_ns});
    }
  }
  return SpanSet{std::move(spans)};
}

}  // namespace kvet::questions
