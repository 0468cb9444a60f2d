// Looks at the times of the samples of one device, in the order in which they were decoded, and says which may be
// handed on and what is missing between them.
#pragma once

#include <cstdint>
#include <optional>

#include "abi/counters.h"

namespace kvet::probes {

class SampleGuard {
 public:
  explicit SampleGuard(uint64_t interval_ns) : interval_ns_(interval_ns) {}

  struct Loss {
    kvet_sampler_loss_kind kind;
    uint64_t count;  // samples
    uint64_t first_ns, last_ns;
  };
  struct Answer {
    bool keep = false;
    std::optional<Loss> loss;
  };
  // The first sample after a start is dropped and is no loss: it spans everything since sampling was enabled.
  Answer next(uint64_t start_ns, uint64_t end_ns);
  // Sampling was stopped and started again. Because the hardware buffer was full, or because it could not go on for a
  // while: what is missing until the next sample that is kept was lost to that. By plan, to change the interval: it is a
  // pause, and no loss.
  enum class Restart : uint8_t { overflow, failure, planned };
  void restarted(Restart why, uint64_t interval_ns);

  [[nodiscard]] uint64_t last_end_ns() const { return last_end_ns_; }  // of the last sample kept; 0: none yet
  [[nodiscard]] bool pausing() const { return restarted_ == Restart::planned; }  // and no sample came since
  [[nodiscard]] bool restarted() const { return restarted_.has_value(); }
  [[nodiscard]] uint64_t paused_ns() const { return paused_ns_; }  // all planned pauses together

 private:
  [[nodiscard]] uint64_t intervals(uint64_t duration_ns) const;

  uint64_t interval_ns_;
  uint64_t last_end_ns_ = 0;
  uint64_t paused_ns_ = 0;
  bool first_ = true;
  std::optional<Restart> restarted_;  // since the last sample kept
};

}  // namespace kvet::probes
