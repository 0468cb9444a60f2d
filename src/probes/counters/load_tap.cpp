#include "probes/counters/load_tap.h"

#include <limits>
#include <utility>

namespace kvet::probes {
namespace {

// A train and its setting up take seconds at most: 10 s at 2 µs are 5 million samples of 32 bytes, ten times too many.
constexpr size_t most_loads = 500'000;

}  // namespace

void LoadTap::begin(uint32_t multiprocessors) {
  const std::lock_guard lock(mutex_);
  collecting_ = true;
  multiprocessors_ = multiprocessors;
  loads_.clear();
}

bool LoadTap::collecting() const {
  const std::lock_guard lock(mutex_);
  return collecting_;
}

void LoadTap::take(const kvet_sampler_sample& sample) {
  const std::lock_guard lock(mutex_);
  if (!collecting_) {
    return;
  }
  if (loads_.size() == most_loads) {
    loads_.erase(loads_.begin(), loads_.begin() + most_loads / 2);  // the newest are those that are waited for
  }
  constexpr uint32_t needed = 1u << KVET_COUNTER_CYCLES_ELAPSED | 1u << KVET_COUNTER_SM_ACTIVE_CYCLES;
  clocks::MeasuredLoad load;
  load.start_ns = static_cast<int64_t>(sample.start_ns);
  load.end_ns = static_cast<int64_t>(sample.end_ns);
  load.busy = std::numeric_limits<float>::quiet_NaN();
  if ((sample.known & needed) == needed && sample.values[KVET_COUNTER_CYCLES_ELAPSED] > 0 && multiprocessors_ != 0) {
    load.busy = static_cast<float>(sample.values[KVET_COUNTER_SM_ACTIVE_CYCLES] /
                                   sample.values[KVET_COUNTER_CYCLES_ELAPSED] / multiprocessors_);
  }
  loads_.push_back(load);
}

int64_t LoadTap::newest_ns() const {
  const std::lock_guard lock(mutex_);
  return loads_.empty() ? 0 : loads_.back().end_ns;
}

std::vector<clocks::MeasuredLoad> LoadTap::end() {
  const std::lock_guard lock(mutex_);
  collecting_ = false;
  return std::exchange(loads_, {});
}

}  // namespace kvet::probes
