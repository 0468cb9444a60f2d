// Captures of several hosts (or of several recorders on one) as one, on one clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "merge/host_clock.h"
#include "model/capture.h"
#include "model/event_sink.h"

namespace kvet::merge {

enum class LinkedBy : uint8_t {
  itself,       // the first capture: its clock is the clock of all
  boot,         // recorded since the same boot: CLOCK_MONOTONIC is one clock
  collectives,  // by the ends of collectives that both took part in
  wall_clock,   // by what the hosts take for the time of day: milliseconds, unverified
};

struct Placed {
  HostClock clock;  // to the clock of the first capture
  LinkedBy by = LinkedBy::itself;
};

// How each capture's clock relates to that of the first, directly or through others. Errors are bad_input: a capture that is
// not complete, or that nothing links to the others (with `wall_clock` that is taken where nothing better is there).
Result<std::vector<Placed>> place(const std::vector<Capture>& captures, bool wall_clock);

// Everything of all captures, in the clock of the first. Ids are given anew; devices are one where their UUID is; facts that
// differ between captures are kept as merge.N.KEY.
void merge_into(const std::vector<Capture>& captures, const std::vector<Placed>& placed, EventSink& sink);

}  // namespace kvet::merge
