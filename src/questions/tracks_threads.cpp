// Host threads: their calls, what the scheduler did with those that launch, and their NVTX ranges.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "questions/nccl_parts.h"
#include "questions/streams.h"
#include "questions/tracks_parts.h"

namespace kvet::questions {
namespace {

struct CallWords {
  const char* name;
  const char* category;
};
CallWords words(ApiKind kind) {
  switch (kind) {
    case ApiKind::launch_kernel: return {"launch kernel", "launch"};
    case ApiKind::launch_cooperative: return {"launch cooperative kernel", "launch"};
    case ApiKind::launch_graph: return {"launch graph", "launch"};
    case ApiKind::launch_host_function: return {"launch host function", "launch"};
    case ApiKind::synchronize_stream: return {"synchronize stream", "synchronize"};
    case ApiKind::synchronize_context: return {"synchronize context", "synchronize"};
    case ApiKind::synchronize_event: return {"synchronize event", "synchronize"};
    case ApiKind::synchronize_copy: return {"copy and wait", "synchronize"};
    case ApiKind::copy_async: return {"start copy", "copy call"};
    case ApiKind::wait_for_queue: return {"wait for room in the queue", "queue"};
  }
  return {"call", "call"};
}

std::string words(Activity activity) {
  switch (activity) {
    case Activity::running: return "running";
    case Activity::preempted: return "preempted";
    case Activity::throttled: return "throttled";
    case Activity::waiting_for_cpu: return "waiting for a CPU";
    case Activity::unexplained: return "off the CPU, nobody saw why";
    default: return fmt::format("blocked: {}", activity_name(activity));
  }
}

class ThreadTracks {
 public:
  ThreadTracks(TrackBook& book, const LaunchFlows& flows) : book_(book), flows_(flows) {}

  void tell_calls(const DispatchThread& thread, const std::vector<uint32_t>& collective_calls);
  void tell_states(const DispatchThread& thread, int64_t from, int64_t to);
  void tell_ranges(const ThreadKey& key, std::vector<uint32_t> ranges);

 private:
  void tell_call(TrackId track, uint32_t index);
  void tell_collective_call(TrackId track, const CollectiveCall& call);

  TrackBook& book_;
  const LaunchFlows& flows_;
  std::vector<TimelineArgument> arguments_;
};

void ThreadTracks::tell_call(TrackId track, uint32_t index) {
  const ApiCall& call = book_.capture.api_calls[index];
  arguments_.clear();
  if (call.correlation_id != 0) {
    arguments_.push_back({"correlation_id", uint64_t{call.correlation_id}});
  }
  if (call.stream_handle != 0) {
    arguments_.push_back({"stream_handle", call.stream_handle});
  }
  if (call.captured) {
    arguments_.push_back({"captured_into_graph", uint64_t{1}});
  }
  if (call.result != 0) {
    arguments_.push_back({"result", int64_t{call.result}});
  }
  const auto [name, category] = words(call.kind);
  book_.sink.on(TimelineSlice{track, call.start_ns, call.end_ns, book_.name(name), category, arguments_,
                              flows_.from_call(index), std::nullopt});
}

void ThreadTracks::tell_collective_call(TrackId track, const CollectiveCall& call) {
  arguments_.assign({{"elements", call.count}, {"communicator", call.communicator}});
  if (call.result != 0) {
    arguments_.push_back({"result", int64_t{call.result}});
  }
  book_.sink.on(TimelineSlice{
      track, call.start_ns, call.end_ns, book_.name(kind_name(call.kind)), "nccl call", arguments_, {}, std::nullopt});
}

void ThreadTracks::tell_calls(const DispatchThread& thread, const std::vector<uint32_t>& collective_calls) {
  struct One {
    int64_t start_ns, end_ns;
    uint32_t index;
    bool collective;
  };
  std::vector<One> calls;
  for (const uint32_t index : collective_calls) {
    const CollectiveCall& call = book_.capture.collective_calls[index];
    calls.push_back({call.start_ns, call.end_ns, index, true});
  }
  for (const uint32_t index : thread.calls) {
    const ApiCall& call = book_.capture.api_calls[index];
    calls.push_back({call.start_ns, call.end_ns, index, false});
  }
  // The outer one of two that begin together comes first.
  std::ranges::stable_sort(calls, [](const One& a, const One& b) {
    return std::pair{a.start_ns, -a.end_ns} < std::pair{b.start_ns, -b.end_ns};
  });
  const TrackId first = book_.thread(thread.key);
  Lanes lanes(Lanes::Nesting::inside);
  std::vector<std::optional<TrackId>> tracks{first};
  for (const One& call : calls) {
    const size_t lane = lanes.place(call.start_ns, call.end_ns);
    tracks.resize(std::max(tracks.size(), lane + 1));
    if (!tracks[lane]) {
      tracks[lane] = book_.make(first, TrackKind::thread, "calls across others", {}, static_cast<uint32_t>(lane));
    }
    if (call.collective) {
      tell_collective_call(*tracks[lane], book_.capture.collective_calls[call.index]);
    } else {
      tell_call(*tracks[lane], call.index);
    }
  }
}

void ThreadTracks::tell_states(const DispatchThread& thread, int64_t from, int64_t to) {
  const TrackId track = book_.make(book_.thread(thread.key), TrackKind::thread_state, "State");
  auto tell = [&](int64_t start, int64_t end, Activity activity) {
    book_.sink.on(TimelineSlice{
        track, start, end, book_.name(words(activity)), activity_name(activity), arguments_, {}, std::nullopt});
  };
  int64_t until = from;
  for (const DispatchThread::Piece& piece : thread.pieces()) {
    arguments_.clear();
    if (piece.from > until) {
      tell(until, piece.from, Activity::running);
    }
    const OffCpu& cause = *piece.interval;
    arguments_.push_back({"cpu", uint64_t{cause.cpu}});
    if (cause.system_call >= 0) {
      arguments_.push_back({"system_call", int64_t{cause.system_call}});
    }
    const bool wanted_cpu = piece.activity == Activity::preempted || piece.activity == Activity::waiting_for_cpu;
    if (wanted_cpu && cause.taker_thread_id != 0) {
      arguments_.push_back({"cpu_taken_by", book_.name(cause.taker_name)});
      arguments_.push_back({"cpu_taken_by_thread", int64_t{cause.taker_thread_id}});
    }
    if (cause.waker_thread_id != 0) {
      arguments_.push_back({"woken_by_thread", int64_t{cause.waker_thread_id}});
    }
    tell(piece.from, piece.to, piece.activity);
    until = std::max(until, piece.to);
  }
  arguments_.clear();
  if (to > until) {
    tell(until, to, Activity::running);
  }
}

void ThreadTracks::tell_ranges(const ThreadKey& key, std::vector<uint32_t> ranges) {
  const auto& all = book_.capture.ranges;
  std::ranges::stable_sort(ranges, [&](uint32_t a, uint32_t b) {
    return std::pair{all[a].start_ns, -all[a].end_ns} < std::pair{all[b].start_ns, -all[b].end_ns};
  });
  LanedTrack track(book_, book_.thread(key), TrackKind::ranges, "NVTX", Lanes::Nesting::inside);
  for (const uint32_t index : ranges) {
    const Range& range = all[index];
    arguments_.clear();
    if (range.domain != StringId{}) {
      arguments_.push_back({"domain", book_.name(range.domain)});
    }
    book_.sink.on(TimelineSlice{track.at(range.start_ns, range.end_ns),
                                range.start_ns,
                                range.end_ns,
                                book_.name(range.name),
                                "nvtx",
                                arguments_,
                                {},
                                std::nullopt});
  }
}

template <class Event>
std::map<ThreadKey, std::vector<uint32_t>> by_thread(const std::vector<Event>& events) {
  std::map<ThreadKey, std::vector<uint32_t>> result;
  for (uint32_t index = 0; index < events.size(); ++index) {
    result[{events[index].process.value, events[index].thread_id}].push_back(index);
  }
  return result;
}

// From the first thing that is known of a thread to the last.
Span known_time(const DispatchThread& thread, const std::vector<uint32_t>& collective_calls, const Capture& capture) {
  Span span = thread.active;
  bool any = !thread.calls.empty();
  auto cover = [&](int64_t from, int64_t to) {
    span = any ? Span{std::min(span.from, from), std::max(span.to, to)} : Span{from, to};
    any = true;
  };
  for (const uint32_t index : collective_calls) {
    cover(capture.collective_calls[index].start_ns, capture.collective_calls[index].end_ns);
  }
  for (const DispatchThread::Piece& piece : thread.pieces()) {
    cover(piece.from, piece.to);
  }
  return span;
}

}  // namespace

void tell_threads(TrackBook& book, const LaunchFlows& flows) {
  const Capture& capture = book.capture;
  const auto collective_calls = by_thread(capture.collective_calls);
  const auto ranges = by_thread(capture.ranges);
  std::set<ThreadKey> dispatchers, all;
  for (const ApiCall& call : capture.api_calls) {
    dispatchers.emplace(call.process.value, call.thread_id);
  }
  for (const auto& [key, calls] : collective_calls) {
    dispatchers.insert(key);
  }
  all = dispatchers;
  for (const auto& [key, indices] : ranges) {
    all.insert(key);
  }
  const auto threads = dispatch_threads(capture, {dispatchers.begin(), dispatchers.end()});
  const std::vector<uint32_t> none;
  ThreadTracks tracks(book, flows);
  for (const ThreadKey& key : all) {
    if (const auto thread = threads.find(key); thread != threads.end()) {
      const auto found = collective_calls.find(key);
      const auto& collectives = found == collective_calls.end() ? none : found->second;
      tracks.tell_calls(thread->second, collectives);
      if (!capture.off_cpu.empty()) {  // else nothing is known of the scheduler
        const Span known = known_time(thread->second, collectives, capture);
        tracks.tell_states(thread->second, known.from, known.to);
      }
    }
    if (const auto found = ranges.find(key); found != ranges.end()) {
      tracks.tell_ranges(key, found->second);
    }
  }
}

}  // namespace kvet::questions
