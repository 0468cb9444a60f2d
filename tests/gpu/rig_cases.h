// SPDX-License-Identifier: Apache-2.0
// Which kernels run together, and with what shape. Grids are no multiples of the SM count (132 on an H200), and what a block
// holds is chosen so that the kernels of a case compete: some always fit beside each other, some wait.
#pragma once

#include <string>
#include <vector>

#include "rig_kernels.h"

struct RigKernel {
  std::string name;
  const void* function;
  uint32_t grid, threads, shared_bytes;
  uint32_t shortest_ns = 5'000, longest_ns = 1'000'000;
  float power = 1;  // of the distribution of the blocks' durations, see rig_kernels.h
  uint32_t early_warps = 0;
  float early_share = 1;
  // Of shared memory. The same for all unless the case is about it: an SM serves one carve-out at a time, so that kernels of
  // different ones do not meet on it.
  int carveout_percent = 100;
  int followed_by = -1;  // the dependent of a pair, launched behind this one in its stream
  bool dependent = false;  // has no stream of its own
};

struct Case {
  std::string name;
  int gap_us;  // largest gap between two launches of a stream
  std::vector<RigKernel> kernels;
};

#define RIG_FUNCTION(name) #name, reinterpret_cast<const void*>(name)

inline std::vector<Case> all_cases() {
  RigKernel a{RIG_FUNCTION(rig_a), 197, 256, 4 << 10}, b{RIG_FUNCTION(rig_b), 317, 512, 8 << 10},
      c{RIG_FUNCTION(rig_c), 613, 128, 48 << 10}, d{RIG_FUNCTION(rig_d), 175, 256, 16 << 10},
      e{RIG_FUNCTION(rig_e), 307, 96, 24 << 10};
  b.power = 0.5f;
  c.power = 0;
  // Blocks of f and g hold the same.
  RigKernel f{RIG_FUNCTION(rig_f), 613, 128, 8 << 10}, g{RIG_FUNCTION(rig_g), 401, 128, 8 << 10};
  f.power = 0.5f;
  RigKernel early{RIG_FUNCTION(rig_early), 287, 256, 12 << 10};
  early.early_warps = 5;
  early.early_share = 0.3f;
  const RigKernel cluster{RIG_FUNCTION(rig_cluster), 262, 192, 20 << 10};
  // One block of 200 KiB fills an SM's shared memory; the other kernel prefers L1.
  RigKernel large{RIG_FUNCTION(rig_c), 97, 128, 200 << 10}, small{RIG_FUNCTION(rig_b), 317, 512, 4 << 10};
  small.carveout_percent = 10;
  RigKernel first{RIG_FUNCTION(rig_first), 199, 192, 8 << 10}, second{RIG_FUNCTION(rig_second), 251, 256, 16 << 10};
  first.followed_by = 1;
  second.dependent = true;
  return {
      {"three", 2000, {a, b, c}},
      {"five", 2000, {a, b, c, d, e}},
      {"equal", 2000, {f, g, c}},
      {"early", 2000, {early, a, c}},
      {"cluster", 2000, {cluster, a, b}},
      {"carveout", 2000, {large, small, a}},
      {"dependent", 2000, {first, second, c}},
  };
}
