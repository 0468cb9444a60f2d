// Held against the CUDA toolkit's own calculator where it is installed, and against worked examples everywhere.
#include "questions/occupancy_limits.h"

#include <gtest/gtest.h>

#include <random>

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define KVET_HAS_ORACLE 1
#endif

namespace kvet::questions {
namespace {

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
  EXPECT_EQ(result.limiter, Limiter::registers);
  EXPECT_DOUBLE_EQ(result.occupancy, 0.5);
}

// 48 KiB + 1 KiB reserve = 50,176 bytes; 228 KiB hold 4 of them (200,704 of 233,472).
TEST(OccupancyLimits, SharedMemoryWithItsReserve) {
  const Theoretical result = on_hopper(launch(128, 32, 48 * 1024));
  EXPECT_EQ(result.blocks_per_sm, 4);
  EXPECT_EQ(result.limiter, Limiter::shared_memory);
  EXPECT_DOUBLE_EQ(result.occupancy, 16.0 / 64);
}

// The carve-out that the driver configured binds: 100 KiB hold 2 of those blocks.
TEST(OccupancyLimits, CarveOut) {
  KernelShape shape = launch(128, 32, 48 * 1024);
  shape.shared_executed_bytes = 100 * 1024;
  EXPECT_EQ(on_hopper(shape).blocks_per_sm, 2);
  shape.shared_executed_bytes = 32 * 1024;  // cannot be what held such a block
  EXPECT_EQ(on_hopper(shape).blocks_per_sm, 4);
}

TEST(OccupancyLimits, WarpAndBlockSlots) {
  EXPECT_EQ(on_hopper(launch(1024, 32, 0)).blocks_per_sm, 2);
  EXPECT_EQ(on_hopper(launch(512, 16, 0)).limiter, Limiter::warps);
  const Theoretical tiny = on_hopper(launch(32, 16, 0));
  EXPECT_EQ(tiny.blocks_per_sm, 32);
  EXPECT_EQ(tiny.limiter, Limiter::block_slots);
  EXPECT_DOUBLE_EQ(tiny.occupancy, 0.5);
  EXPECT_DOUBLE_EQ(on_hopper(launch(33, 16, 0)).occupancy, 1.0) << "33 threads take two warps";
}

// 8 warps of 255 registers fit (8 × 8192 = 65,536); 9 do not.
TEST(OccupancyLimits, ABlockThatDoesNotFit) {
  EXPECT_EQ(on_hopper(launch(256, 255, 0)).blocks_per_sm, 1);
  const Theoretical none = on_hopper(launch(288, 255, 0));
  EXPECT_EQ(none.blocks_per_sm, 0);
  EXPECT_EQ(none.limiter, Limiter::does_not_fit);
}

TEST(OccupancyLimits, Clusters) {
  KernelShape shape = launch(512, 32, 0);
  shape.cluster = {8, 1, 1};
  shape.max_active_clusters = 33;  // 264 blocks on 132 SMs: 2 of the 4 that would fit
  const Theoretical result = on_hopper(shape);
  EXPECT_DOUBLE_EQ(result.blocks_per_sm, 2);
  EXPECT_EQ(result.limiter, Limiter::clusters);
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

// Beside 2 blocks of 512 threads × 64 registers (32 warps, half the registers) fit 2 of the same, or 4 of 256 threads.
TEST(OccupancyLimits, FitsBeside) {
  const SmLimits limits = *sm_limits(device_of(9, 0));
  const KernelShape big = launch(512, 64, 0), small = launch(256, 64, 0);
  EXPECT_EQ(fits_beside(limits, small, big, 2), 0u) << "2 × 16 warps × 2048 registers are all 65,536";
  EXPECT_EQ(fits_beside(limits, small, big, 1), 2u);
  const KernelShape wide = launch(256, 16, 100 * 1024);
  EXPECT_EQ(fits_beside(limits, wide, wide, 1), 1u) << "228 KiB hold two of 101 KiB";
  EXPECT_EQ(fits_beside(limits, wide, wide, 2), 0u);
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
  EXPECT_EQ(fits_beside(limits, shape, shape, 0xffffffff), 0u);
}

#ifdef KVET_HAS_ORACLE
struct Card {
  int major, minor, threads, shared_kib, per_block_kib;
};

// Random launches on every compute capability of the table.
TEST(OccupancyLimits, AgreesWithTheToolkitsCalculator) {
  const Card cards[] = {{7, 0, 2048, 96, 96},    {7, 5, 1024, 64, 64},    {8, 0, 2048, 164, 163},
                        {8, 6, 1536, 100, 99},   {8, 7, 1536, 164, 163},  {8, 9, 1536, 100, 99},
                        {9, 0, 2048, 228, 227},  {10, 0, 2048, 228, 227}, {10, 1, 1536, 228, 227},
                        {10, 3, 2048, 228, 227}, {11, 0, 1536, 228, 227}, {12, 0, 1536, 100, 99},
                        {12, 1, 1536, 100, 99}};
  std::mt19937 random{42};
  for (const Card& card : cards) {
    cudaOccDeviceProp properties{};
    properties.computeMajor = card.major;
    properties.computeMinor = card.minor;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = card.threads;
    properties.regsPerBlock = 65536;
    properties.regsPerMultiprocessor = 65536;
    properties.warpSize = 32;
    properties.sharedMemPerBlock = 48 * 1024;
    properties.sharedMemPerMultiprocessor = static_cast<size_t>(card.shared_kib) * 1024;
    properties.numSms = 132;
    properties.sharedMemPerBlockOptin = static_cast<size_t>(card.per_block_kib) * 1024;
    properties.reservedSharedMemPerBlock = card.major >= 8 ? 1024 : 0;
    const auto limits = sm_limits(device_of(static_cast<uint32_t>(card.major), static_cast<uint32_t>(card.minor)));
    ASSERT_TRUE(limits);
    for (int round = 0; round < 3000; ++round) {
      const uint32_t threads = 1 + random() % 1024;
      const uint32_t registers = 1 + random() % 255;
      const uint32_t fixed = random() % 3 == 0 ? random() % (16 * 1024) : 0;
      const uint32_t dynamic =
          random() % 2 == 0 ? random() % (static_cast<uint32_t>(card.per_block_kib) * 1024 - fixed) : 0;
      cudaOccFuncAttributes attributes{};
      attributes.maxThreadsPerBlock = 1024;
      attributes.numRegs = static_cast<int>(registers);
      attributes.sharedSizeBytes = fixed;
      attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
      attributes.maxDynamicSharedSizeBytes = static_cast<size_t>(card.per_block_kib) * 1024 - fixed;
      cudaOccDeviceState state{};
      cudaOccResult oracle{};
      ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&oracle, &properties, &attributes, &state,
                                                        static_cast<int>(threads), dynamic),
                CUDA_OCC_SUCCESS);
      KernelShape shape = launch(threads, registers, dynamic);
      shape.static_shared_bytes = fixed;
      const auto result = theoretical(*limits, shape, 132);
      ASSERT_TRUE(result);
      ASSERT_EQ(result->blocks_per_sm, oracle.activeBlocksPerMultiprocessor)
          << card.major << '.' << card.minor << ": " << threads << " threads, " << registers << " registers, " << fixed
          << " + " << dynamic << " B";
      const unsigned factors = oracle.limitingFactors;
      switch (result->limiter) {
        case Limiter::registers: ASSERT_TRUE(factors & OCC_LIMIT_REGISTERS); break;
        case Limiter::shared_memory: ASSERT_TRUE(factors & OCC_LIMIT_SHARED_MEMORY); break;
        case Limiter::warps: ASSERT_TRUE(factors & OCC_LIMIT_WARPS); break;
        case Limiter::block_slots: ASSERT_TRUE(factors & OCC_LIMIT_BLOCKS); break;
        case Limiter::clusters: FAIL(); break;
        case Limiter::does_not_fit: ASSERT_EQ(oracle.activeBlocksPerMultiprocessor, 0); break;
      }
    }
  }
}
#else
TEST(OccupancyLimits, AgreesWithTheToolkitsCalculator) { GTEST_SKIP() << "cuda_occupancy.h is not installed here"; }
#endif

}  // namespace
}  // namespace kvet::questions
