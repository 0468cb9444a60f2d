// Fixes the counters' clock of one GPU at one moment: runs a train of pulses, finds it in the samples, and says what came of
// it as the message that goes to the recorder.
#pragma once

#include <chrono>
#include <cstdint>

#include "abi/counters.h"
#include "probes/counters/device_sampler.h"

namespace kvet::probes {

struct AnchorPlan {
  int ordinal = 0;  // CUDA's own
  uint32_t multiprocessors = 0;
  uint64_t interval_ns = 100'000;
  kvet_sampler_anchor_moment moment = KVET_SAMPLER_BEFORE;
  std::chrono::milliseconds limit{};  // for everything; a driver that hangs is left behind on a thread of its own
};

// Returns no sooner than the recording window's margin after the last pulse, so that none of them lies in it.
[[nodiscard]] kvet_sampler_anchor measure_anchor(DeviceSampler& sampler, const AnchorPlan& plan);

}  // namespace kvet::probes
