#include "questions/fingerprint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kvet::questions {
namespace {

// Hopper: 64 warps, 65,536 registers, 228 KiB of shared memory per SM.
SplitKernel kernel(double warps, double registers_per_thread, double shared_kib, bool own) {
  return {{warps / 64, warps * 32 * registers_per_thread / 65536, shared_kib / 228}, own};
}

ResourceShares sum(const std::vector<SplitKernel>& kernels, const std::vector<double>& blocks) {
  ResourceShares total;
  for (size_t i = 0; i < kernels.size(); ++i) {
    total.warps += blocks[i] * kernels[i].per_block.warps;
    total.registers += blocks[i] * kernels[i].per_block.registers;
    total.shared += blocks[i] * kernels[i].per_block.shared;
  }
  return total;
}

TEST(Fingerprint, ThreeKernelsThreeSums) {
  const std::vector<SplitKernel> kernels{kernel(8, 32, 1, true), kernel(8, 128, 1, false), kernel(4, 64, 65, false)};
  const FingerprintSplit split{kernels, true};
  EXPECT_EQ(split.system().unknowns, 3u);
  EXPECT_EQ(split.system().rank, 3u);
  ASSERT_TRUE(split.system().resolved) << split.system().condition;
  std::mt19937 random{1};
  std::uniform_real_distribution<double> blocks{0, 2};
  for (int round = 0; round < 200; ++round) {
    const std::vector<double> resident{blocks(random), round % 3 == 0 ? 0 : blocks(random), blocks(random)};
    const ResourceShares measured = sum(kernels, resident);
    const double truth = resident[0] * kernels[0].per_block.warps / measured.warps;
    EXPECT_NEAR(split.solve(measured).own, truth, 1e-9);
  }
}

// Two sums cannot tell three kernels apart; with shared memory they can be.
TEST(Fingerprint, RankIsSaid) {
  const std::vector<SplitKernel> kernels{kernel(8, 32, 1, true), kernel(8, 128, 1, false), kernel(4, 64, 65, false)};
  const FingerprintSplit split{kernels, false};
  EXPECT_EQ(split.system().equations, 2u);
  EXPECT_EQ(split.system().unknowns, 3u);
  EXPECT_EQ(split.system().rank, 2u);
  EXPECT_FALSE(split.system().resolved);
  EXPECT_TRUE(std::isinf(split.system().condition));
}

// The same registers per thread and no shared memory: a block of 4 warps looks like half a block of 8.
TEST(Fingerprint, ParallelVectors) {
  const FingerprintSplit mixed{{kernel(8, 64, 0, true), kernel(4, 64, 0, false)}, false};
  EXPECT_TRUE(mixed.system().parallel);
  EXPECT_FALSE(mixed.system().resolved);
  // Between K's own shapes it does not matter which of them it was.
  const std::vector<SplitKernel> own{kernel(8, 64, 0, true), kernel(4, 64, 0, true), kernel(8, 16, 0, false)};
  const FingerprintSplit split{own, false};
  EXPECT_EQ(split.system().unknowns, 2u);
  ASSERT_TRUE(split.system().resolved);
  const ResourceShares measured = sum(own, {2, 3, 1});
  EXPECT_NEAR(split.solve(measured).own, (2 * 8 + 3 * 4) / 36.0, 1e-9);
}

// Readings that are off by up to 1% move the answer by no more than `error` says.
TEST(Fingerprint, ErrorBound) {
  const std::vector<SplitKernel> kernels{kernel(8, 40, 0, true), kernel(16, 96, 0, false)};
  const FingerprintSplit split{kernels, false};
  ASSERT_TRUE(split.system().resolved);
  std::mt19937 random{2};
  std::uniform_real_distribution<double> blocks{0.2, 3}, off{-0.01, 0.01};
  for (int round = 0; round < 500; ++round) {
    const std::vector<double> resident{blocks(random), blocks(random)};
    ResourceShares measured = sum(kernels, resident);
    const double truth = resident[0] * kernels[0].per_block.warps / measured.warps;
    measured.warps *= 1 + off(random);
    measured.registers *= 1 + off(random);
    const FingerprintSplit::Share share = split.solve(measured);
    ASSERT_LE(std::abs(share.own - truth), share.error);
  }
}

// Whatever the mix, the truth lies in the range; where the vectors say nothing, limits of residency still do.
TEST(Fingerprint, RangeHoldsTheTruth) {
  std::mt19937 random{3};
  std::uniform_real_distribution<double> blocks{0, 2};
  const std::vector<SplitKernel> kernels{kernel(8, 64, 0, true), kernel(8, 64, 0, false), kernel(4, 64, 30, false)};
  for (int round = 0; round < 300; ++round) {
    const std::vector<double> resident{blocks(random), blocks(random), blocks(random)};
    std::vector<BoundedKernel> bounded;
    bounded.reserve(kernels.size());
    for (const SplitKernel& each : kernels) {
      bounded.push_back({each, 2 * each.per_block.warps});  // never more than 2 blocks of each
    }
    const ResourceShares measured = sum(kernels, resident);
    const ShareRange range = share_range(bounded, measured, true);
    const double truth = resident[0] * kernels[0].per_block.warps;
    ASSERT_LE(range.low, truth + 1e-12);
    ASSERT_GE(range.high, truth - 1e-12);
  }
}

}  // namespace
}  // namespace kvet::questions
