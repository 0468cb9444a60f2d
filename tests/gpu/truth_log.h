// SPDX-License-Identifier: Apache-2.0
// The truth: every warp of a rig kernel writes where and when it was resident, into its own slot, so that nothing is counted
// twice and an empty slot is seen. Added up on the device after the work, in bins of globaltimer.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "rig_check.h"

struct WarpLog {
  uint64_t entry;  // globaltimer; 0: never written
  uint32_t span;  // ns until the warp's last stamp
  uint32_t place;  // SM | kernel << 16
};

constexpr uint64_t bin_ns = 2000;

// Difference arrays in warp·ns: the prefix sum over a bin's index is what was resident in it, exactly. `events` counts entries
// and exits per bin: what is not logged (launch before the first stamp, drain after the last) goes with their number.
__global__ void truth_aggregate(const WarpLog* log, uint64_t count, uint64_t origin, uint64_t bins, uint64_t kernels,
                                unsigned long long* difference, unsigned* events, unsigned long long* missing) {
  for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < count; i += uint64_t(gridDim.x) * blockDim.x) {
    const WarpLog warp = log[i];
    const uint64_t kernel = warp.place >> 16;
    const uint64_t from = warp.entry - origin, to = from + warp.span;
    if (warp.entry < origin || kernel >= kernels || to / bin_ns + 1 >= bins) {
      atomicAdd(missing, 1ull);
      continue;
    }
    unsigned long long* row = difference + kernel * bins;
    atomicAdd(row + from / bin_ns, bin_ns - from % bin_ns);
    atomicAdd(row + from / bin_ns + 1, from % bin_ns);
    atomicAdd(row + to / bin_ns, ~(unsigned long long)(bin_ns - to % bin_ns) + 1);
    atomicAdd(row + to / bin_ns + 1, ~(unsigned long long)(to % bin_ns) + 1);
    atomicAdd(events + kernel * bins + from / bin_ns, 1u);
    atomicAdd(events + kernel * bins + to / bin_ns, 1u);
  }
}

class TruthLog {
 public:
  explicit TruthLog(uint64_t bytes) : capacity_(bytes / sizeof(WarpLog)) {
    RIG_RUN(cudaMalloc(&entries_, capacity_ * sizeof(WarpLog)));
    RIG_RUN(cudaMemset(entries_, 0, capacity_ * sizeof(WarpLog)));
  }

  // Slots for one launch. Several host threads ask at once.
  WarpLog* reserve(uint64_t warps) {
    const uint64_t first = used_.fetch_add(warps);
    if (first + warps > capacity_) {
      std::fprintf(stderr, "rig: the log is full: give --log-gib more, or --rounds less\n");
      std::exit(70);
    }
    return entries_ + first;
  }
  uint64_t used() const { return used_; }

  // Bins of [origin, origin + bins × 2 µs) from the slots [first, last). Writes quarter warps (means over the bin), then
  // events, each kernel after kernel, as 16-bit integers. Returns how many slots were empty or outside.
  uint64_t write(FILE* file, uint64_t first, uint64_t last, uint64_t origin, uint64_t bins, uint64_t kernels) const {
    unsigned long long *difference = nullptr, *missing = nullptr;
    unsigned* events = nullptr;
    const uint64_t cells = bins * kernels;
    RIG_RUN(cudaMalloc(&difference, cells * sizeof *difference));
    RIG_RUN(cudaMalloc(&events, cells * sizeof *events));
    RIG_RUN(cudaMalloc(&missing, sizeof *missing));
    RIG_RUN(cudaMemset(difference, 0, cells * sizeof *difference));
    RIG_RUN(cudaMemset(events, 0, cells * sizeof *events));
    RIG_RUN(cudaMemset(missing, 0, sizeof *missing));
    truth_aggregate<<<1056, 256>>>(entries_ + first, last - first, origin, bins, kernels, difference, events, missing);
    std::vector<int64_t> sums(cells);
    std::vector<uint32_t> counts(cells);
    unsigned long long lost = 0;
    RIG_RUN(cudaMemcpy(sums.data(), difference, cells * sizeof(int64_t), cudaMemcpyDeviceToHost));
    RIG_RUN(cudaMemcpy(counts.data(), events, cells * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    RIG_RUN(cudaMemcpy(&lost, missing, sizeof lost, cudaMemcpyDeviceToHost));
    RIG_RUN(cudaFree(difference));
    RIG_RUN(cudaFree(events));
    RIG_RUN(cudaFree(missing));
    std::vector<uint16_t> out(cells);
    for (uint64_t kernel = 0; kernel < kernels; ++kernel) {
      int64_t resident = 0;
      for (uint64_t bin = 0; bin < bins; ++bin) {
        resident += sums[kernel * bins + bin];
        out[kernel * bins + bin] = static_cast<uint16_t>((resident * 4 + int64_t(bin_ns) / 2) / int64_t(bin_ns));
      }
    }
    std::fwrite(out.data(), sizeof(uint16_t), cells, file);
    for (uint64_t cell = 0; cell < cells; ++cell) {
      out[cell] = static_cast<uint16_t>(std::min<uint32_t>(counts[cell], 65535));
    }
    std::fwrite(out.data(), sizeof(uint16_t), cells, file);
    return lost;
  }

 private:
  WarpLog* entries_ = nullptr;
  uint64_t capacity_;
  std::atomic<uint64_t> used_{0};
};
