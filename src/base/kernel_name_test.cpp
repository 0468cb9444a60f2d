#include "base/kernel_name.h"

#include <gtest/gtest.h>

namespace kvet {
namespace {

TEST(KernelName, OfTheFunction) {
  EXPECT_EQ(function_name("scale(float*, int)"), "scale");
  EXPECT_EQ(function_name("void math::scale<float, 4>(float*, int)"), "scale");
  EXPECT_EQ(function_name("scale[v1,cw51cXT](Array<long long, 1, C, mutable, aligned>, long long)"), "scale");
  EXPECT_EQ(function_name("cudapy::main::scale[abi:v1](Array<int>)"), "scale");
  EXPECT_EQ(function_name("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(function_name("void (anonymous namespace)::softmax<float>(float const*)"), "softmax");
  EXPECT_EQ(function_name("void at::native::reduce<512, at::Op<float, (at::Kind)1> >(at::Op<float, (at::Kind)1>)"),
            "reduce");
  EXPECT_EQ(function_name(""), "");
  EXPECT_EQ(function_name("((((((<<<"), "((((((<<<");
}

TEST(KernelName, TheSameInstantiationFromTwoTools) {
  // The C++ runtime's demangler and Nsight Compute's.
  EXPECT_EQ(instantiation("void math::scale<float, 4, true>(float const*, int)"),
            instantiation("void math::scale<float, (int)4, (bool)true>(const float *, int)"));
  EXPECT_EQ(instantiation("void math::scale<float, 4>(float*)"), "math::scale<float,4>");
  EXPECT_NE(instantiation("void math::scale<float, 4>(float*)"), instantiation("void math::scale<float, 8>(float*)"));
}

}  // namespace
}  // namespace kvet
