#include "questions/occupancy_limits_beside.h"

#include <gtest/gtest.h>

#include <random>

namespace kvet::questions {
namespace {

using Limiters = std::vector<Limiter>;

SmLimits hopper() {
  Device device;
  device.compute_major = 9;
  return sm_limits(device).value_or(SmLimits{});
}

KernelShape launch(uint32_t threads, uint32_t registers, uint32_t shared, uint32_t carve_out_kib = 0) {
  KernelShape shape;
  shape.grid = {1000, 1, 1};
  shape.block = {threads, 1, 1};
  shape.registers_per_thread = registers;
  shape.dynamic_shared_bytes = shared;
  shape.shared_executed_bytes = carve_out_kib * 1024;
  return shape;
}

// Beside 2 blocks of 512 threads × 64 registers (32 warps, all registers) fits nothing; beside 1 of them 2 blocks of 256 threads.
TEST(OccupancyBeside, Registers) {
  const SmLimits limits = hopper();
  const KernelShape big = launch(512, 64, 0), small = launch(256, 64, 0);
  const Beside none = fits_beside(limits, small, big, 2);
  EXPECT_EQ(none.blocks, 0u);
  EXPECT_EQ(none.limiters, Limiters{Limiter::registers});
  EXPECT_EQ(fits_beside(limits, small, big, 1).blocks, 2u);
}

// One warp of 255 registers (8192) takes half of one partition's. The others hold two each, it one: 7 in all; a block of 8 needs
// them all.
TEST(OccupancyBeside, PartitionsAreFilledUnevenly) {
  const SmLimits limits = hopper();
  const KernelShape one = launch(32, 255, 0);
  EXPECT_EQ(fits_beside(limits, one, one, 1).blocks, 7u);
  EXPECT_EQ(fits_beside(limits, launch(128, 255, 0), one, 1).blocks, 1u);
  EXPECT_EQ(fits_beside(limits, launch(256, 255, 0), one, 1).blocks, 0u);
  EXPECT_EQ(coresident_limit(limits, one, one, 1).threads, 7u * 32);
  // 8 warps: two in each partition but one of 8192 there: 4096 each, 128 per thread; three of the others hold 3 of 5461: 5376 in
  // steps, 168, and the fuller one 1: 10 warps.
  EXPECT_EQ(coresident_limit(limits, launch(256, 32, 0), one, 1).registers_per_thread, 168u);
}

TEST(OccupancyBeside, SharedMemoryAndSlots) {
  const SmLimits limits = hopper();
  const KernelShape wide = launch(256, 16, 100 * 1024);
  EXPECT_EQ(fits_beside(limits, wide, wide, 1).blocks, 1u) << "228 KiB hold two of 101 KiB";
  EXPECT_EQ(fits_beside(limits, wide, wide, 2).blocks, 0u);
  EXPECT_EQ(fits_beside(limits, wide, wide, 2).limiters, Limiters{Limiter::shared_memory});
  // 31 blocks of one warp leave one slot.
  EXPECT_EQ(fits_beside(limits, launch(32, 16, 0), launch(32, 16, 0), 31).blocks, 1u);
  EXPECT_EQ(fits_beside(limits, launch(32, 16, 0), launch(32, 16, 0), 31).limiters, Limiters{Limiter::block_slots});
  EXPECT_EQ(fits_beside(limits, launch(1024, 16, 0), launch(1024, 16, 0), 1).limiters, Limiters{Limiter::warps});
}

// Two blocks of 65 KiB run in 132 KiB and leave 2 KiB: a block of 49 KiB needs an SM with a carve-out of at least 179 KiB. Whoever asks
// for it, it serves both: the larger of the two counts.
TEST(OccupancyBeside, OneCarveOutForBoth) {
  const SmLimits limits = hopper();
  const KernelShape flash = launch(128, 128, 64 * 1024, 132);
  const Beside small = fits_beside(limits, launch(128, 32, 48 * 1024, 100), flash, 2);
  EXPECT_EQ(small.blocks, 0u);
  EXPECT_EQ(small.limiters, Limiters{Limiter::carve_out});
  EXPECT_FALSE(small.blocks_in_residents_carve_out);
  const Beside large = fits_beside(limits, launch(128, 32, 48 * 1024, 228), flash, 2);
  EXPECT_EQ(large.blocks, 2u) << "(228 − 130) ÷ 49";
  EXPECT_EQ(large.limiters, Limiters{Limiter::shared_memory});
  EXPECT_EQ(large.blocks_in_residents_carve_out, 0u) << "until the SM has drained";
  // Not recorded: the largest is possible.
  EXPECT_EQ(fits_beside(limits, launch(128, 32, 48 * 1024), launch(128, 128, 64 * 1024), 2).blocks, 2u);
}

TEST(OccupancyBeside, ABlockThatFitsNowhere) {
  EXPECT_EQ(fits_beside(hopper(), launch(288, 255, 0), launch(32, 16, 0), 1).blocks, 0u);
  EXPECT_EQ(fits_beside(hopper(), launch(1056, 16, 0), launch(32, 16, 0), 0).blocks, 0u);
}

// Two flash blocks: 8 warps, 2 per partition, of 4096 registers: half of them are left. 228 − 130 = 98 KiB, 1 of them the driver's.
TEST(OccupancyBeside, CoresidentLimit) {
  const SmLimits limits = hopper();
  const KernelShape flash = launch(128, 128, 64 * 1024, 132);
  const CoresidentLimit limit = coresident_limit(limits, launch(256, 64, 0), flash, 2);
  EXPECT_EQ(limit.shared_bytes, 97u * 1024);
  EXPECT_EQ(limit.shared_bytes_in_carve_out, 1024u) << "132 − 130 − 1";
  EXPECT_EQ(limit.carve_out, 228u * 1024);
  EXPECT_EQ(limit.registers_per_thread, 128u) << "2 warps of 4096 in each partition";
  EXPECT_EQ(limit.threads, 512u) << "4 warps of 2048 in each partition";
  const CoresidentLimit none = coresident_limit(limits, launch(256, 64, 0), launch(1024, 32, 0), 2);
  EXPECT_EQ(none.threads, 0u);
  EXPECT_EQ(none.registers_per_thread, 0u);
  EXPECT_EQ(coresident_limit(limits, launch(32, 16, 0), launch(32, 16, 0), 32).shared_bytes, 0u) << "no slot is left";
}

// The limit is sharp: a block within all three fits, and one step above any of them does not.
TEST(OccupancyBeside, LimitsAreSharp) {
  const SmLimits limits = hopper();
  std::mt19937 random{7};
  auto below = [&](uint32_t end) { return static_cast<uint32_t>(random()) % end; };
  int tried = 0;
  for (int round = 0; round < 20'000; ++round) {
    const KernelShape other = launch(1 + below(1024), 1 + below(128), below(64 * 1024));
    const uint32_t count = 1 + below(4);
    KernelShape shape = launch(1 + below(512), 1 + below(128), below(64 * 1024));
    const auto fits = [&](const KernelShape& block) { return fits_beside(limits, block, other, count).blocks > 0; };
    const CoresidentLimit limit = coresident_limit(limits, shape, other, count);
    const uint32_t threads = (shape.block[0] + 31) / 32 * 32;
    const bool within = shape.dynamic_shared_bytes <= limit.shared_bytes && threads <= limit.threads &&
                        shape.registers_per_thread <= limit.registers_per_thread;
    ASSERT_EQ(fits(shape), within && limit.shared_bytes > 0) << round;
    if (!within) {
      continue;
    }
    ++tried;
    auto with = [&](auto change) {
      KernelShape changed = shape;
      change(changed);
      return changed;
    };
    ASSERT_TRUE(fits(with([&](auto& s) { s.dynamic_shared_bytes = limit.shared_bytes; })));
    ASSERT_FALSE(fits(with([&](auto& s) { s.dynamic_shared_bytes = limit.shared_bytes + 1; })));
    ASSERT_TRUE(fits(with([&](auto& s) { s.registers_per_thread = limit.registers_per_thread; })));
    if (limit.registers_per_thread < 255) {  // no instruction names more
      ASSERT_FALSE(fits(with([&](auto& s) { s.registers_per_thread = limit.registers_per_thread + 1; })));
    }
    ASSERT_TRUE(fits(with([&](auto& s) { s.block[0] = limit.threads; })));
    ASSERT_FALSE(fits(with([&](auto& s) { s.block[0] = limit.threads + 1; })));
  }
  EXPECT_GT(tried, 1000);
}

TEST(OccupancyBeside, ResidentBlocks) {
  const SmLimits limits = hopper();
  KernelShape shape = launch(256, 64, 0);  // 4 fit
  const auto four = theoretical(limits, shape, 132);
  ASSERT_TRUE(four);
  EXPECT_EQ(resident_blocks(*four, shape, 132), 4u);
  shape.grid = {133, 1, 1};
  EXPECT_EQ(resident_blocks(*four, shape, 132), 2u) << "some SM has two";
  shape.grid = {0, 0, 0};
  EXPECT_EQ(resident_blocks(*four, shape, 132), 4u) << "a grid that is not known";
  // 30 clusters of 4 on 132 SMs: less than one block per SM on average, one where there is one.
  shape.cluster = {4, 1, 1};
  shape.max_active_clusters = 30;
  const auto clusters = theoretical(limits, shape, 132);
  ASSERT_TRUE(clusters);
  EXPECT_EQ(resident_blocks(*clusters, shape, 132), 1u);
}

TEST(OccupancyBeside, AbsurdNumbers) {
  KernelShape shape = launch(0xffffffff, 0xffffffff, 0xffffffff);
  shape.static_shared_bytes = 0xffffffff;
  EXPECT_EQ(fits_beside(hopper(), shape, shape, 0xffffffff).blocks, 0u);
  EXPECT_EQ(coresident_limit(hopper(), shape, shape, 0xffffffff).threads, 0u);
  EXPECT_EQ(coresident_limit(hopper(), launch(0, 0, 0), launch(0, 0, 0), 0).threads, 1024u);
}

}  // namespace
}  // namespace kvet::questions
