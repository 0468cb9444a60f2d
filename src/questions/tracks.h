// A capture as tracks over time: streams, graph nodes, dispatcher threads and their states, collectives, counters.
#pragma once

#include "model/capture.h"
#include "model/timeline.h"

namespace kvet::questions {

// Tells the sink everything. Nothing is left out for want of room; what the capture does not know is on tracks of its own
// (unsampled, unresolved, losses). Needs about 40 bytes per execution beyond the capture itself.
void tell_timeline(const Capture& capture, TimelineSink& sink);

}  // namespace kvet::questions
