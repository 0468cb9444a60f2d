#include "questions/clusters.h"

#include <gtest/gtest.h>

namespace kvet::questions {
namespace {

SmLimits chip(uint32_t major, uint32_t minor) {
  Device device;
  device.compute_major = major;
  device.compute_minor = minor;
  const auto limits = sm_limits(device);
  EXPECT_TRUE(limits);
  return limits.value_or(SmLimits{});
}

// What the driver said on real devices of 132 SMs, one block per SM: cuBLAS's kernels on an H200 (maxActiveClusters in CUPTI's
// records): 66 clusters of 2, 30 of 4. Of 8, 15 on an H100 (120 of 132 SMs in use, NVIDIA/cutlass issue 1921).
TEST(Clusters, BoundsHoldWhatDriversSay) {
  for (auto [size, clusters] : {std::pair{2u, 66u}, {4u, 30u}, {8u, 15u}}) {
    const ClusterBounds bounds = cluster_bounds(chip(9, 0), 132, 1, size);
    EXPECT_LE(bounds.least, clusters) << size;
    EXPECT_GE(bounds.most, clusters) << size;
  }
}

// By hand. 132 SMs over at most 8 GPCs of at most 18. Of 4: each GPC wastes 0 or 2; all eight can waste 2: (132 − 16) ÷ 4 = 29;
// without waste none has more than 16, 128 in all: two have 18 and waste 2: (132 − 4) ÷ 4 = 32. Of 8: a GPC of 14 holds one
// cluster and wastes 6, one of 18 wastes 2: three of 14 and five of 18 are 132 SMs, 3 + 10 = 13 clusters; six of 16 and two of 18
// hold 16.
TEST(Clusters, ByHand) {
  const SmLimits hopper = chip(9, 0);
  EXPECT_EQ(cluster_bounds(hopper, 132, 1, 2).least, 66u);
  EXPECT_EQ(cluster_bounds(hopper, 132, 1, 2).most, 66u);
  EXPECT_EQ(cluster_bounds(hopper, 132, 1, 4).least, 29u);
  EXPECT_EQ(cluster_bounds(hopper, 132, 1, 4).most, 32u);
  EXPECT_EQ(cluster_bounds(hopper, 132, 1, 8).least, 13u);
  EXPECT_EQ(cluster_bounds(hopper, 132, 1, 8).most, 16u);
  // The full chip leaves no choice: eight GPCs of 18, each two clusters of 8; with two blocks per SM, 18 × 2 ÷ 8 = 4.
  EXPECT_EQ(cluster_bounds(hopper, 144, 1, 8).least, 16u);
  EXPECT_EQ(cluster_bounds(hopper, 144, 1, 8).most, 16u);
  EXPECT_EQ(cluster_bounds(hopper, 144, 2, 8).least, 32u);
  EXPECT_EQ(cluster_bounds(hopper, 144, 2, 8).most, 32u);
  // Two blocks per SM, clusters of 4: on SMs of their own 2 × 4 per GPC, sharing SMs 36 ÷ 4 = 9.
  EXPECT_EQ(cluster_bounds(hopper, 144, 2, 4).least, 64u);
  EXPECT_EQ(cluster_bounds(hopper, 144, 2, 4).most, 72u);
  // No GPC of 8 SMs holds a cluster of 16.
  EXPECT_EQ(cluster_bounds(hopper, 8, 1, 16).most, 0u);
}

TEST(Clusters, UnknownChipsAreSaidToBe) {
  const ClusterBounds blackwell = cluster_bounds(chip(10, 0), 148, 1, 4);
  EXPECT_EQ(blackwell.least, 1u);
  EXPECT_EQ(blackwell.most, 37u);
  // More SMs than the full chip has, and absurd numbers.
  EXPECT_EQ(cluster_bounds(chip(9, 0), 1000, 1, 4).least, 1u);
  EXPECT_EQ(cluster_bounds(chip(9, 0), 0xffffffff, 0xffffffff, 1).least, 1u);
  EXPECT_EQ(cluster_bounds(chip(9, 0), 132, 1, 0).most, 0u);
  EXPECT_EQ(cluster_bounds(chip(9, 0), 0, 1, 4).most, 0u);
}

}  // namespace
}  // namespace kvet::questions
