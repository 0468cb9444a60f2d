// SPDX-License-Identifier: Apache-2.0
// What every program of the rig needs: calls that must succeed, and the two clocks.
#pragma once

#include <cuda_runtime.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define RIG_RUN(call)                                                                                     \
  do {                                                                                                    \
    if (cudaError_t error = (call); error != cudaSuccess) {                                               \
      std::fprintf(stderr, "rig: %s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(70);                                                                                      \
    }                                                                                                     \
  } while (0)

inline uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}

// Busy: a sleep would be late by the scheduler's mood, and gaps between launches are part of the plan.
inline void wait_until(uint64_t time_ns) {
  while (monotonic_ns() < time_ns) {
  }
}

__device__ inline uint64_t globaltimer() {
  uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)::"memory");
  return now;
}
