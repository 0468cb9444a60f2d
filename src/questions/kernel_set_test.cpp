#include <gtest/gtest.h>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

PlantedDevice three_kernels() {
  PlantedDevice device;
  const ShapeId scale = device.kernel("_Z5scalePfi"), again = device.kernel("_Z5scalePfi", 512),
                triton = device.kernel("triton_rms_norm_0d1d2"), nccl = device.kernel("ncclDevKernel_AllReduce");
  device.run(scale, 7, 0, 10);
  device.run(again, 7, 20, 30);
  device.run(triton, 7, 100, 400);
  device.run(nccl, 7, 500, 600);
  return device;
}

TEST(SelectKernels, ByDemangledAndMangledName) {
  const PlantedDevice device = three_kernels();
  for (const char* pattern : {"scale\\(float\\*, int\\)", "^_Z5scale", "^scale"}) {
    const auto set = select_kernels(device.capture, {pattern});
    ASSERT_TRUE(set) << pattern << ": " << set.error().message();
    EXPECT_TRUE(set->contains({0})) << pattern;
    EXPECT_TRUE(set->contains({1})) << "every launch shape of the name";
    EXPECT_FALSE(set->contains({2}));
    EXPECT_EQ(set->label, "_Z5scalePfi");
  }
}

TEST(SelectKernels, SeveralPatternsAreOneSet) {
  const PlantedDevice device = three_kernels();
  const auto set = select_kernels(device.capture, {"scale", "rms.*norm"});
  ASSERT_TRUE(set);
  EXPECT_TRUE(set->contains({0}));
  EXPECT_TRUE(set->contains({2}));
  EXPECT_FALSE(set->contains({3}));
  EXPECT_EQ(set->label, "triton_rms_norm_0d1d2 and 1 more") << "the longest-running gives its name";
  EXPECT_FALSE(set->contains({1000}));
}

TEST(SelectKernels, NoMatchNamesWhatWasSeen) {
  const PlantedDevice device = three_kernels();
  const auto set = select_kernels(device.capture, {"scale", "softmax"});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().kind, ErrorKind::bad_input);
  const std::string message = set.error().message();
  EXPECT_NE(message.find("no kernel matches \"softmax\""), std::string::npos) << message;
  const size_t triton = message.find("triton_rms_norm"), nccl = message.find("ncclDevKernel"),
               scale = message.find("scale(float*, int)");
  ASSERT_NE(scale, std::string::npos);
  EXPECT_LT(triton, nccl);
  EXPECT_LT(nccl, scale);
}

TEST(SelectKernels, BadPatternsAreTheUsersFault) {
  const PlantedDevice device = three_kernels();
  for (const char* pattern : {"(", "[a", "a{2,1}", "(a)\\1"}) {
    const auto set = select_kernels(device.capture, {pattern});
    ASSERT_FALSE(set) << pattern;
    EXPECT_EQ(set.error().kind, ErrorKind::usage) << pattern;
    EXPECT_NE(set.error().message().find(pattern), std::string::npos);
  }
  EXPECT_EQ(select_kernels(device.capture, {}).error().kind, ErrorKind::usage);
  EXPECT_NE(select_kernels(Capture{}, {"x"}).error().message().find("no kernel at all"), std::string::npos);
}

// A backtracking matcher would need longer than the universe has for this, and a recursive one more stack than there is.
TEST(SelectKernels, HostileNamesAndPatterns) {
  PlantedDevice device;
  device.kernel(std::string(8'000, 'a') + "!");
  device.kernel(std::string("evil\n\x1b[31m\0name", 15));
  EXPECT_FALSE(select_kernels(device.capture, {"^(a+)+$"}));
  EXPECT_TRUE(select_kernels(device.capture, {"^(a|a)*"}));
  const auto none = select_kernels(device.capture, {"zzz"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message().find('\n'), std::string::npos);
  EXPECT_EQ(none.error().message().find('\x1b'), std::string::npos);
  EXPECT_LT(none.error().message().size(), 2000u);
}

}  // namespace
}  // namespace kvet::questions
