#include "base/gpu_name.h"

#include <gtest/gtest.h>

namespace kvet {
namespace {

TEST(GpuName, NamesOfOneGpu) {
  EXPECT_TRUE(may_be_one_gpu("NVIDIA_H100", "NVIDIA H100 80GB HBM3"));
  EXPECT_TRUE(may_be_one_gpu("NVIDIA GeForce RTX 4090", "rtx 4090"));
  EXPECT_TRUE(may_be_one_gpu("NVIDIA A100-SXM4-80GB", "A100 SXM4"));
  EXPECT_FALSE(may_be_one_gpu("NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3"));
  EXPECT_FALSE(may_be_one_gpu("NVIDIA L40S", "NVIDIA H200"));
}

}  // namespace
}  // namespace kvet
