// SPDX-License-Identifier: Apache-2.0
// Kernels whose resource vector (warps, registers, shared memory per block) and block durations are planned, and that log
// every warp. Nothing in them touches device memory but the log.
#pragma once

#include "truth_log.h"

struct Task {
  WarpLog* log;  // of this launch: warp by warp, block by block
  volatile unsigned* zeroes;  // opaque to the compiler, so that registers filled from it must be kept
  uint64_t seed;  // of this launch
  uint32_t kernel;  // number in the case
  uint32_t shortest_ns, longest_ns;  // of a block
  float power;  // 0: log-uniform between them; else uniform to this power (below 1: most are long)
  uint32_t early_warps;  // how many warps of a block leave early …
  float early_share;  // … after this part of the block's time
};

__device__ inline uint64_t mixed(uint64_t value) {  // splitmix64's finaliser
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

// By block and launch. Log-uniform: every order of magnitude between shortest and longest occurs equally often, and few blocks
// are resident for most of the execution. Powers of uniform: the residency falls slowly.
__device__ inline uint64_t planned_ns(const Task& task) {
  const uint64_t bits = mixed(task.seed + 0x9e3779b97f4a7c15ull * (blockIdx.x + 1));
  const float part = float(bits >> 40) / float(1 << 24);
  if (task.power > 0)
    return task.shortest_ns + uint64_t((task.longest_ns - task.shortest_ns) * powf(part, task.power));
  return uint64_t(task.shortest_ns * exp2f(part * log2f(float(task.longest_ns) / task.shortest_ns)));
}

enum class Dependent { none, primary, secondary };

template <int held_registers, Dependent dependent = Dependent::none>
__device__ inline void work(const Task& task) {
  const uint64_t entry = globaltimer();
  if (dependent == Dependent::primary) {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  }
  // Depends on the stamp, so that the loads cannot go before it.
  const volatile unsigned* zeroes = task.zeroes + (entry == 0 ? 1 : 0);
  unsigned held[held_registers];
#pragma unroll
  for (int i = 0; i < held_registers; ++i)
    held[i] = zeroes[i];
  const uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32;
  uint64_t planned = planned_ns(task);
  if (warp >= warps - task.early_warps)
    planned = uint64_t(planned * task.early_share);
  if (dependent == Dependent::secondary) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
  }
  while (globaltimer() - entry < planned)
    __nanosleep(100);
  unsigned mix = 0;
#pragma unroll
  for (int i = 0; i < held_registers; ++i)
    mix = mix * 31 + held[i];
  if (mix != 0)
    task.zeroes[0] = mix;  // never: but the compiler cannot know
  if (threadIdx.x % 32 == 0) {
    unsigned sm;
    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    WarpLog* slot = task.log + uint64_t(blockIdx.x) * warps + warp;
    const uint64_t exit = globaltimer();
    *slot = {entry, uint32_t(exit - entry), sm | task.kernel << 16};
  }
}

#define RIG_KERNEL(name, threads, ...) \
  extern "C" __global__ void __launch_bounds__(threads) name(Task task) { work<__VA_ARGS__>(task); }

RIG_KERNEL(rig_a, 256, 64)
RIG_KERNEL(rig_b, 512, 4)
RIG_KERNEL(rig_c, 128, 22)
RIG_KERNEL(rig_d, 256, 40)
RIG_KERNEL(rig_e, 96, 72)
RIG_KERNEL(rig_f, 128, 40)  // rig_f and rig_g: equal vectors
RIG_KERNEL(rig_g, 128, 40)
RIG_KERNEL(rig_early, 256, 24)
RIG_KERNEL(rig_first, 192, 70, Dependent::primary)
RIG_KERNEL(rig_second, 256, 12, Dependent::secondary)
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(192) rig_cluster(Task task) { work<60>(task); }

// Idle-edged pulses before the work, so that samples and executions can be matched from the start.
extern "C" __global__ void rig_pulse(uint64_t nanoseconds) {
  const uint64_t begin = globaltimer();
  while (globaltimer() - begin < nanoseconds) {
  }
}
