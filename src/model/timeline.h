// A capture as tracks over time, the way viewers show it: what questions/tracks.h tells and export/ writes.
//
// It is told piece by piece, so that a capture of a million executions needs no second copy: begin() once; then tracks, slices
// and counter values in any order of tracks, but each track before what lies on it and after its parent, and what lies on one track
// by start. Texts are fit to be shown (base/safe_text.h). Times are nanoseconds of the capture's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/ids.h"

namespace kvet {

using TrackId = Id<struct TimelineTrackTag>;  // count from 0, dense
using TimelineNameId = Id<struct TimelineNameTag>;

enum class TrackKind : uint8_t {
  process,  // a group: the tracks of one process
  thread,  // calls of a host thread: launches, synchronisation, NCCL
  thread_state,  // the same thread as the scheduler saw it
  ranges,  // its NVTX ranges
  process_device,  // a group: what one process does on one device
  stream,  // kernels, copies and memsets of a stream that no graph holds
  graph,  // replays of graphs
  graph_node,  // the kernels, copies and memsets in them
  collectives,  // of one rank: waiting for others, and transferring
  device,  // a group: the counters of one device
  counter,  // values of the whole device
  kernel_counter,  // values of one kernel
  saturation,  // when the device's memory was saturated
  unsampled,  // when nothing is known of the counters
  unresolved,  // when they cannot be split between kernels
  losses,  // what was not recorded
};

struct TimelineTrack {
  TrackId id;
  std::optional<TrackId> parent;
  TrackKind kind = TrackKind::process;
  std::string name;  // lanes of one thing that overlaps itself are tracks of the same name and parent
  uint32_t lane = 0;
  std::string unit;  // of counters: "%", "bytes/s", "MHz", "W"
  std::optional<int32_t> pid,
      thread_id;  // of processes and threads, in the initial pid namespace; empty: unknown, or not unique
};

// Equal ids mean equal texts.
struct TimelineName {
  TimelineNameId id;
  std::string text;
};

struct TimelineArgument {
  const char* name;  // a literal
  std::variant<int64_t, uint64_t, double, const TimelineName*> value;
};

struct TimelineSlice {
  TrackId track;
  int64_t start_ns = 0, end_ns = 0;
  const TimelineName* name = nullptr;
  const char* category = "";  // a literal: "kernel", "copy", "launch", ...
  std::span<const TimelineArgument> arguments;
  // A flow leads from a launch to one thing that it started: its id is unique, and is told by both.
  std::span<const uint64_t> starts_flows;
  std::optional<uint64_t> ends_flow;
};

// Holds until the next value of the track, or until a slice of TrackKind::unsampled.
struct TimelineCounter {
  TrackId track;
  int64_t time_ns = 0;
  double value = 0;  // finite
};

struct TimelineClock {
  int64_t first_ns = 0, last_ns = 0;  // everything lies within
  bool monotonic = false;  // CLOCK_MONOTONIC of the recorded machine; else the clock of an imported file
  struct Pair {
    int64_t monotonic_ns, realtime_ns;
  };
  std::optional<Pair> realtime;  // read at one moment
};

class TimelineSink {
 public:
  virtual ~TimelineSink() = default;
  // `facts`: about the capture as a whole, keys of ARCHITECTURE.md's table.
  virtual void begin(const TimelineClock& clock, const std::vector<std::pair<std::string, std::string>>& facts) = 0;
  virtual void on(const TimelineTrack& track) = 0;
  virtual void on(const TimelineSlice& slice) = 0;
  virtual void on(const TimelineCounter& counter) = 0;
};

}  // namespace kvet
