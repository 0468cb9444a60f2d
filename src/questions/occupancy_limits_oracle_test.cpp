// Theoretical occupancy against the CUDA toolkit's own calculator, cuda_occupancy.h, on random launches of every compute
// capability.
//
// What the oracle of CUDA 13.0 does not know, or does otherwise:
// - 8.8 (nvcc has it, the guide does not) counts as 8.6; 10.2 and other new minor versions of 10, 11 and 12 are an unknown device.
// - Named barriers and "virtual resources" are arguments that no launch record holds: one barrier and none here. One barrier never
//   limits: barriers are at least as many as block slots.
// - It knows neither clusters nor SMs withheld by MPS or green contexts.
// - It allows 256 registers per thread; the guide, and the hardware, 255.
// - Without a preference it takes the largest carve-out; the driver does not (an H200 ran flash attention in 132 KiB).
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <random>

#include "questions/occupancy_limits.h"

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define KVET_HAS_ORACLE 1
#endif

namespace kvet::questions {
namespace {

#ifdef KVET_HAS_ORACLE
// From the guide's table, not from ours: threads per SM, shared memory per SM and per block.
struct Card {
  int major, minor, threads;
  uint32_t shared_kib, per_block_kib;
};
constexpr Card cards[] = {{7, 0, 2048, 96, 96},    {7, 2, 2048, 96, 96},    {7, 5, 1024, 64, 64},
                          {8, 0, 2048, 164, 163},  {8, 6, 1536, 100, 99},   {8, 7, 1536, 164, 163},
                          {8, 9, 1536, 100, 99},   {9, 0, 2048, 228, 227},  {10, 0, 2048, 228, 227},
                          {10, 1, 1536, 228, 227}, {10, 3, 2048, 228, 227}, {11, 0, 1536, 228, 227},
                          {12, 0, 1536, 100, 99},  {12, 1, 1536, 100, 99}};

cudaOccDeviceProp properties_of(const Card& card) {
  cudaOccDeviceProp properties{};
  properties.computeMajor = card.major;
  properties.computeMinor = card.minor;
  properties.maxThreadsPerBlock = 1024;
  properties.maxThreadsPerMultiprocessor = card.threads;
  properties.regsPerBlock = 65536;
  properties.regsPerMultiprocessor = 65536;
  properties.warpSize = 32;
  properties.sharedMemPerBlock = 48 * 1024;
  properties.sharedMemPerMultiprocessor = size_t{card.shared_kib} * 1024;
  properties.numSms = 132;
  properties.sharedMemPerBlockOptin = size_t{card.per_block_kib} * 1024;
  properties.reservedSharedMemPerBlock = card.major >= 8 ? 1024 : 0;
  return properties;
}

struct Launch {
  uint32_t threads, registers, fixed, dynamic;
  int preference;  // percent of the largest carve-out; -1: none
};

class Draw {
 public:
  Launch operator()(const Card& card) {
    Launch launch{};
    launch.threads = below(4) == 0 ? 32 * (1 + below(32)) : 1 + below(1024);
    launch.registers = below(256);
    launch.fixed = below(3) == 0 ? below(48 * 1024) : 0;
    launch.dynamic = below(2) == 0 ? below(card.per_block_kib * 1024 - launch.fixed + 1) : 0;
    if (below(8) == 0) {  // at the very edge of what a block may have, and one byte beyond
      launch.dynamic = card.per_block_kib * 1024 - launch.fixed + below(2);
    }
    launch.preference = below(2) == 0 ? -1 : static_cast<int>(below(101));
    return launch;
  }

 private:
  uint32_t below(uint32_t end) { return static_cast<uint32_t>(random_()) % end; }
  std::mt19937 random_{42};
};

cudaOccResult ask(const Card& card, const Launch& launch) {
  const cudaOccDeviceProp properties = properties_of(card);
  cudaOccFuncAttributes attributes{};
  attributes.maxThreadsPerBlock = 1024;
  attributes.numRegs = static_cast<int>(launch.registers);
  attributes.sharedSizeBytes = launch.fixed;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = size_t{card.per_block_kib} * 1024 - launch.fixed;
  attributes.numBlockBarriers = 1;
  cudaOccDeviceState state{};
  state.carveoutConfig = launch.preference;
  cudaOccResult oracle{};
  EXPECT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&oracle, &properties, &attributes, &state,
                                                    static_cast<int>(launch.threads), launch.dynamic),
            CUDA_OCC_SUCCESS);
  return oracle;
}

// What a driver that follows the preference configures, by the oracle's own table of sizes: the preferred size rounded up, or
// where that does not hold one block, the smallest that does.
uint32_t configured(const Card& card, const Launch& launch, size_t block_bytes) {
  const cudaOccDeviceProp properties = properties_of(card);
  const size_t preferred = static_cast<size_t>(launch.preference) * properties.sharedMemPerMultiprocessor / 100;
  size_t bytes = preferred;
  EXPECT_EQ(cudaOccAlignUpShmemSizeVoltaPlus(&bytes, &properties), CUDA_OCC_SUCCESS);
  if (bytes < block_bytes) {
    bytes = block_bytes;
    EXPECT_EQ(cudaOccAlignUpShmemSizeVoltaPlus(&bytes, &properties), CUDA_OCC_SUCCESS);
  }
  return static_cast<uint32_t>(bytes);
}

std::vector<Limiter> limiters_of(const cudaOccResult& oracle) {
  std::vector<Limiter> limiters;
  const unsigned factors = oracle.limitingFactors;
  if ((factors & OCC_LIMIT_REGISTERS) != 0) {
    limiters.push_back(Limiter::registers);
  }
  if ((factors & OCC_LIMIT_SHARED_MEMORY) != 0) {
    limiters.push_back(Limiter::shared_memory);
  }
  if ((factors & OCC_LIMIT_WARPS) != 0) {
    limiters.push_back(Limiter::warps);
  }
  if ((factors & OCC_LIMIT_BLOCKS) != 0) {
    limiters.push_back(Limiter::block_slots);
  }
  return limiters;
}

TEST(OccupancyLimitsOracle, AgreesWithTheToolkitsCalculator) {
  Draw draw;
  for (const Card& card : cards) {
    Device device;
    device.compute_major = static_cast<uint32_t>(card.major);
    device.compute_minor = static_cast<uint32_t>(card.minor);
    const auto limits = sm_limits(device);
    ASSERT_TRUE(limits);
    int preferred = 0, beyond = 0;
    for (int round = 0; round < 10'000; ++round) {
      const Launch launch = draw(card);
      const cudaOccResult oracle = ask(card, launch);
      KernelShape shape;
      shape.block = {launch.threads, 1, 1};
      shape.registers_per_thread = launch.registers;
      shape.static_shared_bytes = launch.fixed;
      shape.dynamic_shared_bytes = launch.dynamic;
      const bool fits = launch.fixed + launch.dynamic <= card.per_block_kib * 1024;
      if (launch.preference >= 0 && fits) {
        shape.shared_executed_bytes = configured(card, launch, oracle.allocatedSharedMemPerBlock);
        ++preferred;
      }
      beyond += fits ? 0 : 1;
      const auto result = theoretical(*limits, shape, 132);
      ASSERT_TRUE(result);
      const std::string what =
          fmt::format("{}.{}: {} threads, {} registers, {} + {} B, preference {}", card.major, card.minor,
                      launch.threads, launch.registers, launch.fixed, launch.dynamic, launch.preference);
      ASSERT_EQ(result->blocks_per_sm, oracle.activeBlocksPerMultiprocessor) << what;
      const BlockResources block = block_resources(*limits, shape);
      ASSERT_EQ(block.registers(), static_cast<uint64_t>(oracle.allocatedRegistersPerBlock)) << what;
      ASSERT_EQ(block.shared_bytes, oracle.allocatedSharedMemPerBlock) << what;
      if (launch.preference < 0) {
        ASSERT_EQ(result->limiters, limiters_of(oracle)) << what;
      }
    }
    EXPECT_GT(preferred, 3000);
    EXPECT_GT(beyond, 100);
  }
}

// The step that we advise lifts the oracle's own figure, and one step short of it does not.
TEST(OccupancyLimitsOracle, NextStepIsTheLeastThatHelps) {
  Draw draw;
  int registers = 0, shared = 0, threads = 0;
  for (const Card& card : cards) {
    Device device;
    device.compute_major = static_cast<uint32_t>(card.major);
    device.compute_minor = static_cast<uint32_t>(card.minor);
    const auto limits = sm_limits(device);
    ASSERT_TRUE(limits);
    for (int round = 0; round < 3'000; ++round) {
      Launch launch = draw(card);
      launch.preference = -1;
      launch.dynamic += launch.fixed;
      launch.fixed = 0;
      KernelShape shape;
      shape.block = {launch.threads, 1, 1};
      shape.registers_per_thread = launch.registers;
      shape.dynamic_shared_bytes = launch.dynamic;
      const auto now = theoretical(*limits, shape, 132);
      ASSERT_TRUE(now);
      const auto step = next_step(*limits, shape, *now);
      if (!step) {
        continue;
      }
      Launch after = launch;
      after.threads = step->most_threads.value_or(launch.threads);
      after.registers = step->most_registers_per_thread.value_or(launch.registers);
      after.dynamic = step->most_shared_bytes.value_or(launch.dynamic);
      const auto wanted = static_cast<int>(step->blocks_per_sm);
      ASSERT_GE(ask(card, after).activeBlocksPerMultiprocessor, wanted);
      if (step->most_registers_per_thread) {
        Launch more = after;
        ++more.registers;
        ASSERT_LT(ask(card, more).activeBlocksPerMultiprocessor, wanted);
        ++registers;
      }
      if (step->most_shared_bytes) {
        Launch more = after;
        ++more.dynamic;
        ASSERT_LT(ask(card, more).activeBlocksPerMultiprocessor, wanted);
        ++shared;
      }
      if (step->most_threads && after.threads < 1024) {
        Launch more = after;
        ++more.threads;
        ASSERT_LT(ask(card, more).activeBlocksPerMultiprocessor, wanted);
        ++threads;
      }
    }
  }
  EXPECT_GT(registers, 1000);
  EXPECT_GT(shared, 1000);
  EXPECT_GT(threads, 1000);
}

TEST(OccupancyLimitsOracle, CarveOutSizes) {
  for (const Card& card : cards) {
    const cudaOccDeviceProp properties = properties_of(card);
    Device device;
    device.compute_major = static_cast<uint32_t>(card.major);
    device.compute_minor = static_cast<uint32_t>(card.minor);
    const auto limits = sm_limits(device);
    ASSERT_TRUE(limits);
    for (uint32_t bytes = 0; bytes <= card.shared_kib * 1024; bytes += 512) {
      size_t oracle = bytes;
      ASSERT_EQ(cudaOccAlignUpShmemSizeVoltaPlus(&oracle, &properties), CUDA_OCC_SUCCESS);
      ASSERT_EQ(carve_out_holding(*limits, bytes), static_cast<uint32_t>(oracle)) << card.major << '.' << card.minor;
    }
    EXPECT_FALSE(carve_out_holding(*limits, card.shared_kib * 1024 + 1));
  }
}
#else
TEST(OccupancyLimitsOracle, AgreesWithTheToolkitsCalculator) {
  GTEST_SKIP() << "cuda_occupancy.h is not installed here";
}
#endif

}  // namespace
}  // namespace kvet::questions
