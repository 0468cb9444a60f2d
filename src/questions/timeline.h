// What ran beside K, when: the one sweep over a device's executions that occupancy and DRAM stand on.
//
// Words as in questions.md. A sibling of K is another kernel that overlaps it on the same device in the same group of
// contexts (questions/contexts.h), on another track. A track is a stream: overlap inside a stream is programmatic dependent launch. All nodes of a graph launch
// carry the stream of the launch, though, so inside one graph two nodes that overlap by more than half of the shorter are
// taken for parallel branches, and get tracks of their own.
// K's time in a stream is stream-incremental: from max(start, latest earlier end in the track) to the end.
#pragma once

#include <cstdint>
#include <vector>

#include "model/capture.h"
#include "questions/questions.h"
#include "questions/spans.h"

namespace kvet::questions {

// One execution of K.
struct Run {
  uint32_t execution = 0;  // index into Capture::executions
  int64_t from_ns = 0;  // stream-incremental start
  int64_t to_ns = 0;
  int64_t beside_ns = 0;  // of [from, to): with a sibling
  bool alone_throughout = false;  // from start to end no other kernel of anybody ran, K on other tracks included
  bool crowded_at_start = false;  // more siblings than are listed
  std::vector<StringId> at_start;  // siblings running when it started, by name, sorted, at most 8
};

struct DeviceTimeline {
  DeviceId device;
  std::vector<Run> runs;  // by start
  // Times in which K runs, apart:
  SpanSet alone;  // nothing but K on its tracks, or programmatic dependent launch in its own
  SpanSet undisturbed;  // the part of `alone` in which no other kernel ran at all: counters read K only
  SpanSet beside;  // with a sibling
  SpanSet other_context;  // while a context of another group had a kernel under way too, or the counters saw a switch
  SpanSet whole;  // executions that are alone_throughout
  // Times in which others run:
  SpanSet others;  // any kernel but K
  SpanSet kernels;  // any kernel
};

// One per device on which K ran.
std::vector<DeviceTimeline> timelines(const Capture& capture, const KernelSet& kernels);

}  // namespace kvet::questions
