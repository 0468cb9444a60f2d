#include "questions/blame_path.h"

#include <algorithm>
#include <limits>

#include "questions/streams.h"

namespace kvet::questions {
namespace {

// A start that comes so soon after its predecessor or its launch needs no other reason.
constexpr int64_t usual_delay_ns = 8'000;
// Work in another stream that ended so long before a start can be what it waited for: the event, and the start delay.
constexpr int64_t event_reach_ns = 12'000;
// How many ends so close before a start are looked at: no device has so many kernels at once.
constexpr std::ptrdiff_t most_candidates = 128;
// Overlap with a collective that cannot have slowed a kernel: the clocks' error, and blocks that drain.
constexpr int64_t harmless_overlap_ns = 2'000;

}  // namespace

RankWork::RankWork(const Capture& capture, const std::vector<bool>& shape_is_nccl, Rows rows)
    : capture_(capture), rows_(std::move(rows)) {
  struct Numbered {
    Work work;
    std::optional<uint32_t> execution;  // of a collective
  };
  std::vector<Numbered> all;
  for (uint32_t index : rows_.executions) {
    const Execution& execution = capture.executions[index];
    const bool collective = shape_is_nccl[execution.shape.value];
    PathItem item{collective                     ? PathItem::Kind::collective
                  : beside_collective(execution) ? PathItem::Kind::beside_collective
                                                 : PathItem::Kind::kernel,
                  capture.shapes[execution.shape.value].name};
    all.push_back(
        {{execution.start_ns, execution.end_ns,
          stream_key(execution.process, execution.context_id, execution.stream_id), execution.correlation_id, item},
         collective ? std::optional(index) : std::nullopt});
  }
  for (uint32_t index : rows_.transfers) {
    const Transfer& transfer = capture.transfers[index];
    all.push_back({{transfer.start_ns,
                    transfer.end_ns,
                    stream_key(transfer.process, transfer.context_id, transfer.stream_id),
                    transfer.correlation_id,
                    {PathItem::Kind::copy, {}}},
                   std::nullopt});
  }
  std::ranges::stable_sort(all, {}, [](const Numbered& one) { return std::pair{one.work.end_ns, one.work.start_ns}; });
  works_.reserve(all.size());
  for (const Numbered& one : all) {
    const auto position = static_cast<uint32_t>(works_.size());
    works_.push_back(one.work);
    streams_[one.work.stream].push_back(position);
    if (one.execution) {
      positions_.emplace(*one.execution, position);
    }
  }
  index_calls();
}

void RankWork::index_calls() {
  for (uint32_t index : rows_.calls) {
    const ApiCall& call = capture_.api_calls[index];
    if (is_synchronisation(call.kind)) {
      waits_[call.thread_id].push_back(&call);
    } else if (call.correlation_id != 0 && !call.captured) {
      launches_.emplace(call.correlation_id, &call);
    }
  }
  for (auto& [thread, calls] : waits_) {
    std::ranges::stable_sort(calls, {}, &ApiCall::end_ns);
  }
}

bool RankWork::beside_collective(const Execution& execution) const {
  return rows_.collectives.covered(execution.start_ns, execution.end_ns) > harmless_overlap_ns;
}

const ApiCall* RankWork::launch_of(uint32_t correlation) const {
  const auto found = correlation == 0 ? launches_.end() : launches_.find(correlation);
  return found == launches_.end() ? nullptr : found->second;
}

std::optional<int64_t> RankWork::launched_at(uint32_t execution) const {
  const ApiCall* call = launch_of(capture_.executions[execution].correlation_id);
  return call != nullptr ? std::optional(call->start_ns) : std::nullopt;
}

// What ended last before it began.
std::optional<uint32_t> RankWork::before_in_stream(uint32_t position) const {
  const Work& work = works_[position];
  const auto& stream = streams_.at(work.stream);
  const auto own = std::ranges::lower_bound(stream, position);
  const auto after = std::upper_bound(stream.begin(), own, work.start_ns,
                                      [&](int64_t time, uint32_t other) { return time < works_[other].end_ns; });
  return after == stream.begin() ? std::nullopt : std::optional(*std::prev(after));
}

// Programmatic dependent launch: it began in the tail of the work before it. Nodes of a graph that overlap by more than half of the
// shorter are parallel branches instead.
std::optional<uint32_t> RankWork::overlapping_predecessor(uint32_t position) const {
  const Work& work = works_[position];
  const auto& stream = streams_.at(work.stream);
  const auto own = std::ranges::lower_bound(stream, position);
  if (own == stream.begin()) {
    return std::nullopt;
  }
  const Work& before = works_[*std::prev(own)];
  const int64_t overlap = before.end_ns - work.start_ns;
  const int64_t shorter = std::min(before.end_ns - before.start_ns, work.end_ns - work.start_ns);
  return overlap > 0 && before.start_ns < work.start_ns && overlap <= shorter / 2 ? std::optional(*std::prev(own))
                                                                                  : std::nullopt;
}

// The latest work of another stream that ended just before this one began, and had been asked for before it.
std::optional<uint32_t> RankWork::other_stream(uint32_t position, int64_t after_ns, const ApiCall* call) const {
  const Work& work = works_[position];
  const auto last = std::upper_bound(works_.begin(), works_.begin() + position, work.start_ns,
                                     [](int64_t time, const Work& other) { return time < other.end_ns; });
  for (auto other = last; other != works_.begin() && last - other < most_candidates;) {
    --other;
    if (other->end_ns <= after_ns || work.start_ns - other->end_ns > event_reach_ns) {
      break;
    }
    const ApiCall* its_call = launch_of(other->correlation);
    const bool earlier = call == nullptr || its_call == nullptr || its_call->start_ns < call->start_ns;
    if (other->stream != work.stream && earlier) {
      return static_cast<uint32_t>(other - works_.begin());
    }
  }
  return std::nullopt;
}

RankWork::Cause RankWork::cause_of(uint32_t position) const {
  const Work& work = works_[position];
  const ApiCall* call = launch_of(work.correlation);
  const auto before = before_in_stream(position);
  Cause cause;
  cause.ready_ns = before ? works_[*before].end_ns : std::numeric_limits<int64_t>::min();
  const int64_t returned = call != nullptr ? std::min(call->end_ns, work.start_ns) : cause.ready_ns;
  const bool late_launch = call != nullptr && (!before || std::min(call->start_ns, work.start_ns) >= cause.ready_ns);
  cause.at_ns = std::max(cause.ready_ns, returned);
  if (cause.at_ns < work.start_ns && work.start_ns - usual_delay_ns > cause.at_ns) {
    if (const auto other = other_stream(position, cause.at_ns, call)) {
      cause.what = Cause::What::work;
      cause.work = *other;
      cause.at_ns = cause.ready_ns = works_[*other].end_ns;
      return cause;
    }
  }
  if (late_launch) {
    cause.what = Cause::What::host;
    cause.call = call;
  } else if (before) {
    cause.what = Cause::What::work;
    cause.work = *before;
  }
  return cause;
}

// The last time that the thread waited for the device before this call, and after `from_ns`: when the wait ended, and the position
// of the work whose end ended it.
std::optional<std::pair<int64_t, uint32_t>> RankWork::released_by(const ApiCall& call, int64_t from_ns,
                                                                  uint32_t below) const {
  const auto thread = waits_.find(call.thread_id);
  if (thread == waits_.end()) {
    return std::nullopt;
  }
  const auto& calls = thread->second;
  auto wait = std::upper_bound(calls.begin(), calls.end(), call.start_ns,
                               [](int64_t time, const ApiCall* one) { return time < one->end_ns; });
  while (wait != calls.begin()) {
    const ApiCall& one = **--wait;
    if (one.end_ns <= from_ns) {
      break;
    }
    const auto after = std::upper_bound(works_.begin(), works_.begin() + below, one.end_ns,
                                        [](int64_t time, const Work& work) { return time < work.end_ns; });
    if (after != works_.begin() && std::prev(after)->end_ns > one.start_ns) {
      return std::pair{one.end_ns, static_cast<uint32_t>(std::prev(after) - works_.begin())};
    }
  }
  return std::nullopt;
}

std::optional<int64_t> RankWork::start_delay(uint32_t execution) const {
  const auto position = positions_.find(execution);
  if (position == positions_.end()) {
    return std::nullopt;
  }
  const Cause cause = cause_of(position->second);
  return cause.what == Cause::What::nothing ? std::nullopt
                                            : std::optional(works_[position->second].start_ns - cause.at_ns);
}

PathTimes RankWork::path(uint32_t execution, int64_t from_ns) const {
  PathTimes times;
  const auto found = positions_.find(execution);
  if (found == positions_.end()) {
    return times;
  }
  uint32_t position = found->second;
  int64_t cursor = works_[position].start_ns;
  auto spend = [&](PathItem item, int64_t since) {
    since = std::max(since, from_ns);
    if (since < cursor) {
      times[item] += static_cast<double>(cursor - since);
      cursor = since;
    }
  };
  auto go_to = [&](uint32_t next) {  // the path goes on with the work that ended at the cursor
    position = next;
    const Work& work = works_[position];
    const auto overlapping = overlapping_predecessor(position);
    spend(work.item, overlapping ? works_[*overlapping].end_ns : work.start_ns);
  };
  // Positions only ever fall, so this ends.
  while (cursor > from_ns) {
    if (const auto overlapping = overlapping_predecessor(position);
        overlapping && works_[*overlapping].end_ns == cursor) {
      go_to(*overlapping);
      continue;
    }
    const Cause cause = cause_of(position);
    if (cause.what == Cause::What::nothing) {
      spend({PathItem::Kind::unknown, {}}, from_ns);
      break;
    }
    spend({PathItem::Kind::start_delay, {}}, cause.at_ns);
    if (cause.what == Cause::What::work) {
      spend({PathItem::Kind::host, {}}, cause.ready_ns);  // inside the launch call
      go_to(cause.work);
      continue;
    }
    spend({PathItem::Kind::host, {}}, cause.call->start_ns);
    const auto released = released_by(*cause.call, from_ns, position);
    if (!released) {
      spend({PathItem::Kind::host, {}}, from_ns);
      break;
    }
    spend({PathItem::Kind::host, {}}, works_[released->second].end_ns);  // woken late, and then launched late
    go_to(released->second);
  }
  return times;
}

std::vector<RankWork> work_of_ranks(const Capture& capture, const std::vector<bool>& shape_is_nccl,
                                    const std::vector<std::pair<ProcessId, DeviceId>>& ranks) {
  std::map<std::pair<ProcessId, DeviceId>, size_t> index_of;
  std::map<ProcessId, std::vector<size_t>> of_process;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    index_of.emplace(ranks[rank], rank);
    of_process[ranks[rank].first].push_back(rank);
  }
  std::vector<RankWork::Rows> rows(ranks.size());
  std::map<DeviceId, std::vector<Span>> collectives;
  for (uint32_t index = 0; index < capture.executions.size(); ++index) {
    const Execution& execution = capture.executions[index];
    if (const auto rank = index_of.find({execution.process, execution.device}); rank != index_of.end()) {
      rows[rank->second].executions.push_back(index);
    }
    if (shape_is_nccl[execution.shape.value]) {
      collectives[execution.device].push_back({execution.start_ns, execution.end_ns});
    }
  }
  for (uint32_t index = 0; index < capture.transfers.size(); ++index) {
    const Transfer& transfer = capture.transfers[index];
    if (const auto rank = index_of.find({transfer.process, transfer.device}); rank != index_of.end()) {
      rows[rank->second].transfers.push_back(index);
    }
  }
  for (uint32_t index = 0; index < capture.api_calls.size(); ++index) {
    if (const auto process = of_process.find(capture.api_calls[index].process); process != of_process.end()) {
      for (size_t rank : process->second) {
        rows[rank].calls.push_back(index);
      }
    }
  }
  std::map<DeviceId, SpanSet> busy;
  for (auto& [device, spans] : collectives) {
    busy.emplace(device, SpanSet{std::move(spans)});
  }
  std::vector<RankWork> works;
  works.reserve(ranks.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (const auto device = busy.find(ranks[rank].second); device != busy.end()) {
      rows[rank].collectives = device->second;
    }
    works.emplace_back(capture, shape_is_nccl, std::move(rows[rank]));
  }
  return works;
}

}  // namespace kvet::questions
