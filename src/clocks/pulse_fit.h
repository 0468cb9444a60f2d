// Where the counters' clock lies, from kernels of our own that log the GPU's timer, without any execution of the target.
//
// A train of pulses (kernels that fill the SMs for about a sample's length, at random distances) leaves edges in the samples;
// their logs say where these edges are on the GPU's timer (%globaltimer): raw → timer. Handshakes, in which the GPU stores its timer
// between two readings of CLOCK_MONOTONIC, give timer → CLOCK_MONOTONIC. Pure: the sampler runs the kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "clocks/load.h"

namespace kvet::clocks {

// One pulse, by its blocks' own logs.
struct Pulse {
  double entry_ns = 0, exit_ns = 0;  // timer − origin, mean over the SMs that it ran on
  double level = 1;  // these SMs, of all
};

// One handshake: at some moment between the two, the timer read timer_ns.
struct Handshake {
  int64_t before_ns = 0, after_ns = 0;  // CLOCK_MONOTONIC
  int64_t timer_ns = 0;
};

struct PulseTrain {
  int64_t timer_origin_ns = 0;
  std::vector<Pulse> pulses;  // by time
  std::vector<Handshake> handshakes;
};

// CLOCK_MONOTONIC at one moment of the counters' clock.
struct ClockAnchor {
  int64_t raw_ns = 0;
  int64_t offset_ns = 0;  // CLOCK_MONOTONIC − raw
  int64_t residual_ns = 0, residual_p95_ns = 0;  // as if it were spread evenly within the bounds that are left
  // How it came about.
  uint32_t pulses = 0;  // that could be used
  int64_t bracket_ns = 0;  // width of what the handshakes leave open
  int64_t unlogged_ns = 0;  // how much longer a pulse is in the samples than in its own log: launch and drain
  int64_t scatter_ns = 0;  // median distance of a pulse from the rest
  int64_t from_ns = 0, to_ns = 0;  // raw: all that the train left in the samples
};

// `samples`: raw, by time, from before the train until after it. `coarse_offset_ns`: CLOCK_MONOTONIC − raw, known to within
// search_ns. Errors are unavailable and say why the train does not tell.
[[nodiscard]] Result<ClockAnchor> fit_pulses(std::span<const MeasuredLoad> samples, const PulseTrain& train,
                                             int64_t coarse_offset_ns, int64_t search_ns);

}  // namespace kvet::clocks
