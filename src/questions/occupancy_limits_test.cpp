// Worked examples; occupancy_limits_oracle_test.cpp holds the same functions against the CUDA toolkit's own calculator.
#include "questions/occupancy_limits.h"

#include <gtest/gtest.h>

namespace kvet::questions {
namespace {

using Limiters = std::vector<Limiter>;

Device device_of(uint32_t major, uint32_t minor) {
  Device device;
  device.compute_major = major;
  device.compute_minor = minor;
  device.multiprocessors = 132;
  return device;
}

KernelShape launch(uint32_t threads, uint32_t registers, uint32_t shared) {
  KernelShape shape;
  shape.grid = {1000, 1, 1};
  shape.block = {threads, 1, 1};
  shape.registers_per_thread = registers;
  shape.dynamic_shared_bytes = shared;
  return shape;
}

Theoretical on_hopper(const KernelShape& shape) {
  const auto limits = sm_limits(device_of(9, 0));
  EXPECT_TRUE(limits);
  const auto result = theoretical(*limits, shape, 132);
  EXPECT_TRUE(result);
  return result.value_or(Theoretical{});
}

// 64 registers × 32 threads = 2048 per warp; a quarter of the registers, 16,384, holds 8 warps: 32 warps, 4 blocks of 8.
TEST(OccupancyLimits, Registers) {
  const Theoretical result = on_hopper(launch(256, 64, 0));
  EXPECT_EQ(result.blocks_per_sm, 4);
  EXPECT_EQ(result.limiters, Limiters{Limiter::registers});
  EXPECT_DOUBLE_EQ(result.occupancy, 0.5);
}

// 48 KiB + 1 KiB reserve = 50,176 bytes; 228 KiB hold 4 of them (200,704 of 233,472).
TEST(OccupancyLimits, SharedMemoryWithItsReserve) {
  const Theoretical result = on_hopper(launch(128, 32, 48 * 1024));
  EXPECT_EQ(result.blocks_per_sm, 4);
  EXPECT_EQ(result.limiters, Limiters{Limiter::shared_memory});
  EXPECT_DOUBLE_EQ(result.occupancy, 16.0 / 64);
}

// The carve-out that the driver configured binds: 100 KiB hold 2 of those blocks.
TEST(OccupancyLimits, CarveOut) {
  KernelShape shape = launch(128, 32, 48 * 1024);
  shape.shared_executed_bytes = 100 * 1024;
  EXPECT_EQ(on_hopper(shape).blocks_per_sm, 2);
  EXPECT_EQ(on_hopper(shape).limiters, Limiters{Limiter::carve_out});
  shape.shared_executed_bytes = 32 * 1024;  // cannot be what held such a block
  EXPECT_EQ(on_hopper(shape).blocks_per_sm, 4);
  EXPECT_EQ(on_hopper(shape).limiters, Limiters{Limiter::shared_memory});
}

// A flash-attention kernel as an H200 recorded it: 255 registers × 128 threads leave room for 2 blocks, and the driver chose
// 132 KiB, which hold 2 of 65 KiB. It chose them because of the registers, so these are what binds.
TEST(OccupancyLimits, TheCarveOutFollowsTheOthers) {
  KernelShape shape = launch(128, 255, 65536);
  shape.shared_executed_bytes = 135168;
  EXPECT_EQ(on_hopper(shape).blocks_per_sm, 2);
  EXPECT_EQ(on_hopper(shape).limiters, Limiters{Limiter::registers});
}

// 256 threads × 64 registers: 4 blocks; 56 KiB + 1 KiB: 4 of 57 KiB are exactly 228 KiB.
TEST(OccupancyLimits, AllThatBindAreNamed) {
  const Theoretical tie = on_hopper(launch(256, 64, 56 * 1024));
  EXPECT_EQ(tie.blocks_per_sm, 4);
  EXPECT_EQ(tie.limiters, (Limiters{Limiter::registers, Limiter::shared_memory}));
  EXPECT_EQ(names(tie.limiters), "registers and shared memory");
  // 64 threads × 32 registers: 32 block slots, 64 warps, 65,536 registers: all at once.
  const Theoretical all = on_hopper(launch(64, 32, 0));
  EXPECT_EQ(all.limiters, (Limiters{Limiter::registers, Limiter::warps, Limiter::block_slots}));
  EXPECT_EQ(names(all.limiters), "registers, warp slots and block slots");
}

TEST(OccupancyLimits, WarpAndBlockSlots) {
  EXPECT_EQ(on_hopper(launch(1024, 32, 0)).blocks_per_sm, 2);
  EXPECT_EQ(on_hopper(launch(512, 16, 0)).limiters, Limiters{Limiter::warps});
  const Theoretical tiny = on_hopper(launch(32, 16, 0));
  EXPECT_EQ(tiny.blocks_per_sm, 32);
  EXPECT_EQ(tiny.limiters, Limiters{Limiter::block_slots});
  EXPECT_DOUBLE_EQ(tiny.occupancy, 0.5);
  EXPECT_DOUBLE_EQ(on_hopper(launch(33, 16, 0)).occupancy, 1.0) << "33 threads take two warps";
}

// 8 warps of 255 registers fit (8 × 8192 = 65,536); 9 do not.
TEST(OccupancyLimits, ABlockThatDoesNotFit) {
  EXPECT_EQ(on_hopper(launch(256, 255, 0)).blocks_per_sm, 1);
  const Theoretical none = on_hopper(launch(288, 255, 0));
  EXPECT_EQ(none.blocks_per_sm, 0);
  EXPECT_EQ(none.limiters, Limiters{Limiter::registers});
}

TEST(OccupancyLimits, Clusters) {
  KernelShape shape = launch(512, 32, 0);
  shape.cluster = {8, 1, 1};
  shape.max_active_clusters = 33;  // 264 blocks on 132 SMs: 2 of the 4 that would fit
  const Theoretical result = on_hopper(shape);
  EXPECT_DOUBLE_EQ(result.blocks_per_sm, 2);
  EXPECT_EQ(result.limiters, Limiters{Limiter::clusters});
  EXPECT_DOUBLE_EQ(result.occupancy, 0.5);
}

TEST(OccupancyLimits, WavesAndTail) {
  KernelShape shape = launch(256, 64, 0);  // 4 per SM: 528 at once
  shape.grid = {1320, 1, 1};
  auto result = waves(on_hopper(shape), shape, 132);
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->waves, 2.5);
  EXPECT_DOUBLE_EQ(result->last_fill, 0.5);
  shape.grid = {528, 2, 1};
  result = waves(on_hopper(shape), shape, 132);
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->waves, 2);
  EXPECT_DOUBLE_EQ(result->last_fill, 1);
  shape.grid = {0, 0, 0};
  EXPECT_FALSE(waves(on_hopper(shape), shape, 132));
}

std::optional<NextStep> step_on_hopper(const KernelShape& shape) {
  return next_step(*sm_limits(device_of(9, 0)), shape, on_hopper(shape));
}

// 256 threads: 5 blocks are 40 warps, 10 per partition: 16,384 / 10 = 1638 registers, in steps of 256: 1536, 48 per thread.
TEST(OccupancyLimits, NextStepOfRegisters) {
  const auto step = step_on_hopper(launch(256, 64, 0));
  ASSERT_TRUE(step);
  EXPECT_EQ(step->blocks_per_sm, 5u);
  EXPECT_EQ(step->most_registers_per_thread, 48u);
  EXPECT_FALSE(step->most_shared_bytes || step->most_threads || step->least_carve_out);
  EXPECT_DOUBLE_EQ(step->occupancy, 40.0 / 64);
}

// 5 blocks of 228 KiB / 5 = 46,694 bytes, in steps of 128: 46,592, of which 1024 are the driver's. Registers in the same way.
TEST(OccupancyLimits, NextStepOfTwoAtOnce) {
  const auto step = step_on_hopper(launch(256, 64, 56 * 1024));
  ASSERT_TRUE(step);
  EXPECT_EQ(step->most_registers_per_thread, 48u);
  EXPECT_EQ(step->most_shared_bytes, 45568u);
  KernelShape after = launch(256, 48, 45568);
  EXPECT_EQ(on_hopper(after).blocks_per_sm, 5);
  EXPECT_EQ(on_hopper(launch(256, 49, 45568)).blocks_per_sm, 4) << "one more register is too many";
  EXPECT_EQ(on_hopper(launch(256, 48, 45569)).blocks_per_sm, 4) << "one more byte is too many";
}

// 768 threads: 2 blocks of 24 warps leave 16 slots. 3 blocks of 21 warps: 672 threads; 63 warps, 16 per partition of 16,384
// registers: 32 per thread.
TEST(OccupancyLimits, NextStepOfThreads) {
  const auto step = step_on_hopper(launch(768, 40, 0));
  ASSERT_TRUE(step);
  EXPECT_EQ(step->most_threads, 672u);
  EXPECT_EQ(step->most_registers_per_thread, 32u);
  EXPECT_DOUBLE_EQ(step->occupancy, 63.0 / 64);
  EXPECT_EQ(on_hopper(launch(672, 32, 0)).blocks_per_sm, 3);
}

TEST(OccupancyLimits, NextStepOfSlotsAndCarveOut) {
  // 32 blocks of one warp: two warps fit as often.
  auto step = step_on_hopper(launch(32, 16, 0));
  ASSERT_TRUE(step);
  EXPECT_EQ(step->blocks_per_sm, 32u);
  EXPECT_EQ(step->most_threads, 64u);
  EXPECT_DOUBLE_EQ(step->occupancy, 1);
  // 3 blocks of 49 KiB are 147 KiB: the next size is 164 KiB.
  KernelShape shape = launch(128, 32, 48 * 1024);
  shape.shared_executed_bytes = 100 * 1024;
  step = step_on_hopper(shape);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->blocks_per_sm, 3u);
  EXPECT_EQ(step->least_carve_out, 164u * 1024);
  EXPECT_FALSE(step->most_shared_bytes);
}

TEST(OccupancyLimits, NothingToLiftAtFullOccupancy) {
  EXPECT_FALSE(step_on_hopper(launch(256, 32, 0)));
  // Turing's 32 slots hold one block of 32 warps, or two of 16: no more warps.
  const SmLimits turing = *sm_limits(device_of(7, 5));
  const auto full = theoretical(turing, launch(1024, 32, 0), 40);
  ASSERT_TRUE(full);
  EXPECT_FALSE(next_step(turing, launch(1024, 32, 0), *full));
  KernelShape clusters = launch(256, 64, 0);
  clusters.cluster = {2, 1, 1};
  clusters.max_active_clusters = 1;
  EXPECT_FALSE(step_on_hopper(clusters));
}

// 288 threads of 255 registers: 9 warps, counted as 12 by the launch check: 65,536 / 12 = 5461, in steps of 256: 5376, 168.
TEST(OccupancyLimits, NextStepOfABlockThatDoesNotFit) {
  const auto step = step_on_hopper(launch(288, 255, 0));
  ASSERT_TRUE(step);
  EXPECT_EQ(step->blocks_per_sm, 1u);
  EXPECT_EQ(step->most_registers_per_thread, 168u);
}

// NVIDIA's own worked examples. CUDA C++ Best Practices Guide, "Calculating Occupancy": on 7.0, 37 registers, 12 blocks of 128
// threads, 75%; 4 blocks of 320 threads, 63%. CUDA Programming Guide 13, "Kernel Launch and Occupancy", on 10.0: blocks of 768
// threads, 2, 75%; of 32 threads, 50%; 100 KB of shared memory, 2.
TEST(OccupancyLimits, TheGuidesExamples) {
  const SmLimits volta = *sm_limits(device_of(7, 0)), blackwell = *sm_limits(device_of(10, 0));
  auto expect = [](const SmLimits& limits, const KernelShape& shape, double blocks, double occupancy) {
    const auto result = theoretical(limits, shape, 80);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->blocks_per_sm, blocks);
    EXPECT_DOUBLE_EQ(result->occupancy, occupancy);
  };
  expect(volta, launch(128, 37, 0), 12, 0.75);
  expect(volta, launch(320, 37, 0), 4, 0.625);
  expect(blackwell, launch(768, 32, 0), 2, 0.75);
  expect(blackwell, launch(32, 32, 0), 32, 0.5);
  expect(blackwell, launch(1024, 32, 100 * 1024), 2, 1);
  // CUDA C++ Programming Guide, "Multiprocessor Level": 64 registers and 512 threads, 2 blocks; one register more, 1. (Said of
  // 6.x, whose registers are handed out in the same way.)
  expect(volta, launch(512, 64, 0), 2, 0.5);
  expect(volta, launch(512, 65, 0), 1, 0.25);
}

TEST(OccupancyLimits, UnknownIsUnknown) {
  EXPECT_FALSE(sm_limits(device_of(6, 1)));
  EXPECT_FALSE(sm_limits(device_of(99, 0)));
  EXPECT_FALSE(theoretical(*sm_limits(device_of(9, 0)), launch(0, 32, 0), 132));
}

// Numbers that no device has must not overflow anything.
TEST(OccupancyLimits, AbsurdNumbers) {
  KernelShape shape = launch(0xffffffff, 0xffffffff, 0xffffffff);
  shape.block = {0xffffffff, 0xffffffff, 0xffffffff};
  shape.grid = shape.cluster = shape.block;
  shape.static_shared_bytes = shape.max_active_clusters = shape.shared_executed_bytes = 0xffffffff;
  const SmLimits limits = *sm_limits(device_of(9, 0));
  const auto result = theoretical(limits, shape, 132);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->blocks_per_sm, 0);
  // What would fit is still said: 32 warps of 64 registers.
  const auto step = next_step(limits, shape, *result);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->most_threads, 1024u);
  EXPECT_EQ(step->most_registers_per_thread, 64u);
  EXPECT_EQ(step->most_shared_bytes, 227u * 1024);
}

}  // namespace
}  // namespace kvet::questions
