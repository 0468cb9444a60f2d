// What processes did on devices: streams, graph nodes, and replays of graphs as wholes.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "questions/tracks_parts.h"

namespace kvet::questions {
namespace {

using StreamKey = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;  // process, device, context, stream

struct Replay {
  StreamKey stream;
  uint32_t correlation_id = 0, graph_id = 0;
  uint64_t nodes = 0;
  int64_t start_ns = std::numeric_limits<int64_t>::max(), end_ns = std::numeric_limits<int64_t>::min();
};

const char* words(TransferKind kind) {
  switch (kind) {
    case TransferKind::host_to_device: return "copy host to device";
    case TransferKind::device_to_host: return "copy device to host";
    case TransferKind::device_to_device: return "copy device to device";
    case TransferKind::peer: return "copy to a peer";
    case TransferKind::memset: return "memset";
    case TransferKind::other: return "copy";
  }
  return "copy";
}

std::string extent(const std::array<uint32_t, 3>& size) {
  return fmt::format("{} x {} x {}", size[0], size[1], size[2]);
}

class DeviceWork {
 public:
  DeviceWork(TrackBook& book, const LaunchFlows& flows)
      : book_(book), flows_(flows), shapes_(book.capture.shapes.size()) {
    count_contexts();
  }
  void tell();

 private:
  struct ShapeTexts {
    const TimelineName *name = nullptr, *grid = nullptr, *block = nullptr, *cluster = nullptr;
  };
  void count_contexts();
  template <class Work>
  LanedTrack& track_of(const Work& work);
  LanedTrack& track(std::map<StreamKey, LanedTrack>& tracks, const StreamKey& key, TrackKind kind, const char* what);
  template <class Work>
  void add_to_replay(const Work& work);
  const ShapeTexts& texts(ShapeId id);
  void tell_execution(size_t index);
  void tell_transfer(size_t index);
  void tell_replays();

  TrackBook& book_;
  const LaunchFlows& flows_;
  std::vector<ShapeTexts> shapes_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> contexts_;  // of a process on a device
  std::map<StreamKey, LanedTrack> streams_, nodes_, graphs_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Replay> replays_;  // process, device, correlation id
  std::vector<TimelineArgument> arguments_;
};

void DeviceWork::count_contexts() {
  auto add = [&](const auto& work) {
    std::vector<uint32_t>& seen = contexts_[{work.process.value, work.device.value}];
    if (seen.size() < 2 && std::ranges::find(seen, work.context_id) == seen.end()) {
      seen.push_back(work.context_id);
    }
  };
  std::ranges::for_each(book_.capture.executions, add);
  std::ranges::for_each(book_.capture.transfers, add);
}

LanedTrack& DeviceWork::track(std::map<StreamKey, LanedTrack>& tracks, const StreamKey& key, TrackKind kind,
                              const char* what) {
  const auto found = tracks.find(key);
  if (found != tracks.end()) {
    return found->second;
  }
  const auto& [process, device, context, stream] = key;
  const std::string of_context = contexts_[{process, device}].size() > 1 ? fmt::format(", context {}", context) : "";
  return tracks
      .emplace(key, LanedTrack(book_, book_.process_device(ProcessId{process}, DeviceId{device}), kind,
                               fmt::format("Stream {}{}{}", stream, of_context, what), Lanes::Nesting::none))
      .first->second;
}

template <class Work>
LanedTrack& DeviceWork::track_of(const Work& work) {
  const StreamKey key{work.process.value, work.device.value, work.context_id, work.stream_id};
  return work.graph_node_id == 0 ? track(streams_, key, TrackKind::stream, "")
                                 : track(nodes_, key, TrackKind::graph_node, ": graph nodes");
}

template <class Work>
void DeviceWork::add_to_replay(const Work& work) {
  if (work.graph_node_id == 0 || work.correlation_id == 0) {
    return;
  }
  Replay& replay = replays_[{work.process.value, work.device.value, work.correlation_id}];
  replay.stream = {work.process.value, work.device.value, work.context_id, work.stream_id};
  replay.correlation_id = work.correlation_id;
  replay.graph_id = work.graph_id;
  ++replay.nodes;
  replay.start_ns = std::min(replay.start_ns, work.start_ns);
  replay.end_ns = std::max(replay.end_ns, work.end_ns);
}

const DeviceWork::ShapeTexts& DeviceWork::texts(ShapeId id) {
  ShapeTexts& known = shapes_[id.value];
  if (known.name == nullptr) {
    const KernelShape& shape = book_.capture.shapes[id.value];
    known.name = book_.kernel(shape.name);
    known.grid = shape.grid[0] == 0 ? nullptr : book_.name(extent(shape.grid));
    known.block = shape.block[0] == 0 ? nullptr : book_.name(extent(shape.block));
    known.cluster = shape.cluster[0] == 0 ? nullptr : book_.name(extent(shape.cluster));
  }
  return known;
}

template <class Work>
void add_ids(std::vector<TimelineArgument>& arguments, const Work& work) {
  if (work.correlation_id != 0) {
    arguments.push_back({"correlation_id", uint64_t{work.correlation_id}});
  }
  if (work.graph_node_id != 0) {
    arguments.push_back({"graph_id", uint64_t{work.graph_id}});
    arguments.push_back({"graph_node_id", work.graph_node_id});
  }
}

void DeviceWork::tell_execution(size_t index) {
  const Execution& execution = book_.capture.executions[index];
  const KernelShape& shape = book_.capture.shapes[execution.shape.value];
  const ShapeTexts& text = texts(execution.shape);
  arguments_.clear();
  if (text.grid != nullptr) {
    arguments_.push_back({"grid", text.grid});
  }
  if (text.block != nullptr) {
    arguments_.push_back({"block", text.block});
    arguments_.push_back({"registers_per_thread", uint64_t{shape.registers_per_thread}});
    arguments_.push_back({"static_shared_bytes", uint64_t{shape.static_shared_bytes}});
    arguments_.push_back({"dynamic_shared_bytes", uint64_t{shape.dynamic_shared_bytes}});
  }
  if (text.cluster != nullptr) {
    arguments_.push_back({"cluster", text.cluster});
  }
  add_ids(arguments_, execution);
  book_.sink.on(TimelineSlice{track_of(execution).at(execution.start_ns, execution.end_ns),
                              execution.start_ns,
                              execution.end_ns,
                              text.name,
                              "kernel",
                              arguments_,
                              {},
                              flows_.to_execution(index)});
  add_to_replay(execution);
}

void DeviceWork::tell_transfer(size_t index) {
  const Transfer& transfer = book_.capture.transfers[index];
  arguments_.assign({{"bytes", transfer.bytes}});
  add_ids(arguments_, transfer);
  book_.sink.on(TimelineSlice{track_of(transfer).at(transfer.start_ns, transfer.end_ns),
                              transfer.start_ns,
                              transfer.end_ns,
                              book_.name(words(transfer.kind)),
                              transfer.kind == TransferKind::memset ? "memset" : "copy",
                              arguments_,
                              {},
                              flows_.to_transfer(index)});
  add_to_replay(transfer);
}

void DeviceWork::tell_replays() {
  std::vector<const Replay*> by_start;
  by_start.reserve(replays_.size());
  for (const auto& [key, replay] : replays_) {
    by_start.push_back(&replay);
  }
  std::ranges::stable_sort(by_start, {}, &Replay::start_ns);
  for (const Replay* replay : by_start) {
    arguments_.assign({{"nodes", replay->nodes},
                       {"graph_id", uint64_t{replay->graph_id}},
                       {"correlation_id", uint64_t{replay->correlation_id}}});
    LanedTrack& row = track(graphs_, replay->stream, TrackKind::graph, ": graph replays");
    book_.sink.on(TimelineSlice{row.at(replay->start_ns, replay->end_ns),
                                replay->start_ns,
                                replay->end_ns,
                                book_.name(fmt::format("graph {}", replay->graph_id)),
                                "graph replay",
                                arguments_,
                                {},
                                std::nullopt});
  }
}

void DeviceWork::tell() {
  const auto& executions = book_.capture.executions;
  const auto& transfers = book_.capture.transfers;
  for (size_t e = 0, t = 0; e < executions.size() || t < transfers.size();) {
    if (t == transfers.size() || (e < executions.size() && executions[e].start_ns <= transfers[t].start_ns)) {
      tell_execution(e++);
    } else {
      tell_transfer(t++);
    }
  }
  tell_replays();
}

}  // namespace

void tell_device_work(TrackBook& book, const LaunchFlows& flows) { DeviceWork(book, flows).tell(); }

}  // namespace kvet::questions
