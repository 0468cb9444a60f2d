// SPDX-License-Identifier: Apache-2.0
// Puts globaltimer on CLOCK_MONOTONIC: the host writes a flag into pinned memory, a kernel sees it, stamps globaltimer, and
// answers. The stamp was taken between the host's two readings. All brackets of a session are intersected: within a
// millisecond the drift (2.8 µs/s) is nothing.
#pragma once

#include <algorithm>
#include <vector>

#include "rig_check.h"

__global__ void truth_clock(volatile unsigned long long* asked, volatile unsigned long long* answer, int times) {
  for (int i = 1; i <= times; ++i) {
    while (*asked != static_cast<unsigned long long>(i)) {
    }
    answer[1] = globaltimer();
    __threadfence_system();
    answer[0] = i;
  }
}

struct ClockPair {
  uint64_t monotonic_ns, globaltimer_ns;  // the same moment
  int64_t width_ns;  // of the intersected bracket: the pair is right within half of it
  int64_t narrowest_ns;  // of a single bracket
};

class TruthClock {
 public:
  TruthClock() {
    RIG_RUN(cudaHostAlloc(&host_, 256, cudaHostAllocMapped));
    RIG_RUN(cudaHostGetDevicePointer(&device_, host_, 0));
    RIG_RUN(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }

  // The device must be idle.
  void session(int times = 200) {
    auto* asked = static_cast<volatile unsigned long long*>(host_);
    volatile unsigned long long* answer = asked + 8;
    asked[0] = answer[0] = 0;
    auto* device = static_cast<unsigned long long*>(device_);
    truth_clock<<<1, 1, 0, stream_>>>(device, device + 8, times);
    RIG_RUN(cudaGetLastError());
    int64_t low = INT64_MIN, high = INT64_MAX, narrowest = INT64_MAX;
    uint64_t stamp = 0;
    for (int i = 1; i <= times; ++i) {
      const uint64_t before = monotonic_ns();
      *asked = i;
      while (answer[0] != static_cast<unsigned long long>(i)) {
      }
      const uint64_t after = monotonic_ns();
      const uint64_t last = stamp;
      stamp = answer[1];
      if (last != 0 && stamp > last) {
        granularity_ = divisor(granularity_, stamp - last);
      }
      if (i == 1)
        continue;  // the kernel was not there yet
      low = std::max(low, int64_t(stamp - after));
      high = std::min(high, int64_t(stamp - before));
      narrowest = std::min(narrowest, int64_t(after - before));
    }
    RIG_RUN(cudaStreamSynchronize(stream_));
    // The timer counts in steps and is rounded down: the true time is up to one step later than the stamp.
    high += int64_t(granularity_);
    const int64_t offset = low + (high - low) / 2;
    pairs_.push_back({stamp - offset, stamp, high - low, narrowest});
  }

  const std::vector<ClockPair>& pairs() const { return pairs_; }
  uint64_t granularity_ns() const { return granularity_; }  // greatest common divisor of all steps seen

 private:
  static uint64_t divisor(uint64_t a, uint64_t b) { return b == 0 ? a : divisor(b, a % b); }

  void *host_ = nullptr, *device_ = nullptr;
  cudaStream_t stream_ = nullptr;
  uint64_t granularity_ = 0;
  std::vector<ClockPair> pairs_;
};
