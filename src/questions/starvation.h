// When a stream was ready and had nothing to run since its dispatcher came late.
#pragma once

#include <vector>

#include "questions/dispatch_parts.h"

namespace kvet::questions {

struct Starvation {
  std::vector<double> lengths;  // ns from ready to the return of the call, of each launch that came late
  uint64_t launches = 0;  // with earlier work in their stream: those of which it is known
  uint64_t launches_device = 0;  // that left the device without any work
  // What the launches left empty. No instant counts twice: in `streams` not in one stream, in `devices`, which hold no
  // work of anybody, not on one device, where several streams starve at once.
  std::vector<Span> streams, devices;
};
// `busy`: by DeviceId, when the device did anything for anybody.
[[nodiscard]] Starvation starvation_of(const Capture& capture, const Dispatcher& dispatcher,
                                       const std::vector<SpanSet>& busy);

// The parts of [from, to) that are not busy.
[[nodiscard]] std::vector<Span> idle_parts(const SpanSet& busy, int64_t from, int64_t to);

void append_starvation(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher,
                       const Starvation& starvation);

}  // namespace kvet::questions
