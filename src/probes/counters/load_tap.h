// Keeps how busy the SMs were, sample by sample, for a moment: what a train of pulses is found in.
#pragma once

#include <mutex>
#include <vector>

#include "abi/counters.h"
#include "clocks/load.h"

namespace kvet::probes {

class LoadTap {
 public:
  // `multiprocessors` 0: unknown, then nothing can be kept.
  void begin(uint32_t multiprocessors);
  [[nodiscard]] bool collecting() const;
  void take(const kvet_sampler_sample& sample);
  // Raw end of the newest sample; 0: none yet.
  [[nodiscard]] int64_t newest_ns() const;
  // Ends collecting.
  [[nodiscard]] std::vector<clocks::MeasuredLoad> end();

 private:
  mutable std::mutex mutex_;
  bool collecting_ = false;
  uint32_t multiprocessors_ = 0;
  std::vector<clocks::MeasuredLoad> loads_;
};

}  // namespace kvet::probes
