// SPDX-License-Identifier: Apache-2.0
// Kernels that move known bytes, and can count them over time as they go.
#pragma once

#include "rig_check.h"

constexpr uint64_t chunk_bytes = 32 << 10;  // what a warp moves between two stamps: 8 µs at a few GB/s per warp
constexpr uint64_t chunk_words = chunk_bytes / sizeof(uint4);
constexpr uint64_t bin_ns = 10'000;

struct Move {
  const uint4* from;
  uint4* to;
  uint64_t chunks, first, wrap;  // chunks first … first + chunks − 1, modulo wrap
  unsigned long long* bins;  // bytes (read + written) over time; null: not wanted
  uint64_t origin, bin_count;
  uint64_t pace_ns;  // least time between the beginnings of two chunks of a warp; 0: as fast as it goes
};

__device__ void count(const Move& move, uint64_t bytes) {
  const uint64_t bin = (globaltimer() - move.origin) / bin_ns;
  if (bin < move.bin_count)
    atomicAdd(move.bins + bin, bytes);
}

enum class Way { copy, read };

template <Way way>
__device__ void run(const Move& move) {
  const unsigned lane = threadIdx.x % 32;
  const uint64_t warps = uint64_t(gridDim.x) * (blockDim.x / 32);
  const uint64_t began = globaltimer();
  const uint64_t each = chunk_bytes * (way == Way::copy ? 2 : 1);
  unsigned mix = 0;
  uint64_t turn = 0;
  for (uint64_t i = uint64_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; i < move.chunks; i += warps, ++turn) {
    if (move.pace_ns != 0) {
      while (globaltimer() - began < turn * move.pace_ns)
        __nanosleep(100);
    }
    // Half of the chunk's bytes count at its beginning, half at its end.
    if (move.bins != nullptr && lane == 0)
      count(move, each / 2);
    const uint64_t at = (move.first + i) % move.wrap * chunk_words + lane;
    for (uint64_t word = 0; word < chunk_words; word += 8 * 32) {
      uint4 held[8];
#pragma unroll
      for (int k = 0; k < 8; ++k)
        held[k] = move.from[at + word + k * 32];
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        if (way == Way::copy) {
          move.to[at + word + k * 32] = held[k];
        } else {
          mix |= held[k].x | held[k].y | held[k].z | held[k].w;
        }
      }
    }
    if (move.bins != nullptr && lane == 0)
      count(move, each / 2);
  }
  if (way == Way::read && mix == 0x7fffffff)
    move.to[0].x = mix;  // never: the buffers hold one bit per byte
}

extern "C" __global__ void __launch_bounds__(256) dram_copy(Move move) { run<Way::copy>(move); }
extern "C" __global__ void __launch_bounds__(512) dram_other(Move move) { run<Way::copy>(move); }
extern "C" __global__ void __launch_bounds__(1024) dram_saturate(Move move) { run<Way::copy>(move); }
extern "C" __global__ void __launch_bounds__(1024) dram_read(Move move) { run<Way::read>(move); }
extern "C" __global__ void __launch_bounds__(1024) dram_read80(Move move) { run<Way::read>(move); }
extern "C" __global__ void __launch_bounds__(256) dram_loop(Move move) { run<Way::read>(move); }
extern "C" __global__ void __launch_bounds__(128) dram_compute(uint64_t nanoseconds, float* never) {
  const uint64_t begin = globaltimer();
  float value = threadIdx.x;
  while (globaltimer() - begin < nanoseconds) {
#pragma unroll 64
    for (int i = 0; i < 256; ++i)
      value = value * 1.0001f + 0.5f;
  }
  if (value == -1)
    *never = value;
}
extern "C" __global__ void rig_pulse(uint64_t nanoseconds) {
  const uint64_t begin = globaltimer();
  while (globaltimer() - begin < nanoseconds) {
  }
}
