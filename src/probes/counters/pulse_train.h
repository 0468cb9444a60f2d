// Runs pulses and handshakes on one GPU (clocks/pulse_fit.h says what for), in a context that is gone afterwards.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "base/result.h"
#include "clocks/pulse_fit.h"

namespace kvet::probes {

// GPU time of all pulses together; handshakes occupy one SM for some tenths of a ms more.
inline constexpr int64_t pulse_budget_ns = 1'600'000;

struct PulsePlan {
  uint32_t count = 0;
  int64_t shortest_ns = 0, longest_ns = 0;  // of one pulse
};
// About as long as a sample, so that most pulses cross the border of one: only then their edges can be placed.
[[nodiscard]] PulsePlan plan_pulses(uint64_t interval_ns);

// `ordinal`: CUDA's own. Calls of the driver may hang: run it on a thread that can be left behind. Errors are unavailable.
// `hold_sampling`: called with true before and false after what keeps every other user of the driver waiting (opening and
// closing the context), so that samples pause instead of being lost. Where it says false, nobody waits for the train any more,
// and none is run.
[[nodiscard]] Result<clocks::PulseTrain> run_pulse_train(int ordinal, uint64_t interval_ns,
                                                         std::chrono::nanoseconds limit,
                                                         const std::function<bool(bool)>& hold_sampling);

}  // namespace kvet::probes
