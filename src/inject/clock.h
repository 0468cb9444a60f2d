#pragma once

#include <time.h>

#include <cstdint>

namespace kvet::inject {

// CLOCK_MONOTONIC: the clock of eBPF, so that host and device events share one.
inline uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace kvet::inject
