#include "probes/counters/sample_guard.h"

#include <algorithm>

namespace kvet::probes {

uint64_t SampleGuard::intervals(uint64_t duration_ns) const {
  return std::max<uint64_t>(1, (duration_ns + interval_ns_ / 2) / interval_ns_);
}

SampleGuard::Answer SampleGuard::next(uint64_t start_ns, uint64_t end_ns) {
  if (first_) {
    first_ = false;
    return {};
  }
  // Half an interval of overlap or gap is rounding of a trigger that is not ours; a sample that goes back in time, or
  // has no length, cannot be placed.
  const uint64_t tolerance = interval_ns_ / 2;
  if (start_ns == 0 || end_ns <= start_ns || start_ns + tolerance < last_end_ns_) {
    return {false, Loss{KVET_SAMPLER_LOSS_BAD_TIME, 1, start_ns, end_ns}};
  }
  Answer answer{true, std::nullopt};
  if (last_end_ns_ != 0 && start_ns > last_end_ns_ + tolerance) {
    if (restarted_ == Restart::planned) {
      paused_ns_ += start_ns - last_end_ns_;
    } else {
      answer.loss = Loss{restarted_ == Restart::overflow ? KVET_SAMPLER_LOSS_OVERFLOW : KVET_SAMPLER_LOSS_GAP,
                         intervals(start_ns - last_end_ns_), last_end_ns_, start_ns};
    }
  }
  restarted_.reset();
  last_end_ns_ = end_ns;
  return answer;
}

void SampleGuard::restarted(Restart why, uint64_t interval_ns) {
  first_ = true;
  interval_ns_ = interval_ns;
  // An overflow stays one, however often sampling starts anew before the next sample.
  if (!restarted_ || restarted_ == Restart::planned) {
    restarted_ = why;
  }
}

}  // namespace kvet::probes
