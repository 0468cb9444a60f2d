#include "questions/sm_limits.h"

#include <gtest/gtest.h>

namespace kvet::questions {
namespace {

Device device_of(uint32_t major, uint32_t minor) {
  Device device;
  device.compute_major = major;
  device.compute_minor = minor;
  return device;
}

// CUDA Programming Guide 13, the two tables "per Compute Capability"; 7.0 and 7.2 from that of CUDA 12.
TEST(SmLimits, TheGuidesTable) {
  struct Row {
    uint32_t major, minor, blocks, warps, shared_kib, shared_per_block_kib;
  };
  for (const Row& row : {Row{7, 0, 32, 64, 96, 96},
                         {7, 2, 32, 64, 96, 96},
                         {7, 5, 16, 32, 64, 64},
                         {8, 0, 32, 64, 164, 163},
                         {8, 6, 16, 48, 100, 99},
                         {8, 7, 16, 48, 164, 163},
                         {8, 9, 24, 48, 100, 99},
                         {9, 0, 32, 64, 228, 227},
                         {10, 0, 32, 64, 228, 227},
                         {10, 3, 32, 64, 228, 227},
                         {11, 0, 24, 48, 228, 227},
                         {12, 0, 24, 48, 100, 99},
                         {12, 1, 24, 48, 100, 99}}) {
    const auto limits = sm_limits(device_of(row.major, row.minor));
    ASSERT_TRUE(limits) << row.major << '.' << row.minor;
    EXPECT_EQ(limits->blocks, row.blocks) << row.major << '.' << row.minor;
    EXPECT_EQ(limits->warps, row.warps) << row.major << '.' << row.minor;
    EXPECT_EQ(limits->registers, 65536u);
    EXPECT_EQ(limits->shared_bytes, row.shared_kib * 1024) << row.major << '.' << row.minor;
    EXPECT_EQ(limits->shared_bytes - limits->shared_reserved, row.shared_per_block_kib * 1024);
  }
}

TEST(SmLimits, WhatTheDeviceReportsGoesFirst) {
  Device device = device_of(9, 0);
  device.max_warps_per_multiprocessor = 48;
  device.max_shared_bytes_per_multiprocessor = 100 * 1024;
  const auto limits = sm_limits(device);
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->warps, 48u);
  EXPECT_EQ(limits->blocks, 32u);
  EXPECT_EQ(limits->shared_bytes, 100u * 1024);
  EXPECT_FALSE(carve_out_holding(*limits, 101 * 1024)) << "sizes above it do not exist on this device";
}

// 8.8 is in nvcc and not in the guide: known by what the device says about itself, or not at all.
TEST(SmLimits, AMinorVersionThatTheTableLacks) {
  Device device = device_of(8, 8);
  EXPECT_FALSE(sm_limits(device));
  device.max_warps_per_multiprocessor = 48;
  device.max_blocks_per_multiprocessor = 24;
  device.max_registers_per_multiprocessor = 65536;
  EXPECT_FALSE(sm_limits(device)) << "no shared memory";
  device.max_shared_bytes_per_multiprocessor = 164 * 1024;
  const auto limits = sm_limits(device);
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->blocks, 24u);
  EXPECT_EQ(limits->shared_reserved, 1024u);
  EXPECT_EQ(carve_out_holding(*limits, 1), 164u * 1024) << "the only size that is known";
  device.compute_major = 13;
  EXPECT_FALSE(sm_limits(device)) << "how it hands out registers and shared memory is not known";
}

}  // namespace
}  // namespace kvet::questions
