#include "base/pattern.h"

#include <gtest/gtest.h>

namespace kvet {
namespace {

TEST(Pattern, IsSearchedNotAnchored) {
  auto pattern = Pattern::compile("norm|rms_[a-z]+");
  ASSERT_TRUE(pattern);
  EXPECT_TRUE(pattern->found_in("my_rms_kernel"));
  EXPECT_FALSE(pattern->found_in("gemm"));
  EXPECT_EQ(pattern->groups(), 0U);
}

TEST(Pattern, FirstGroup) {
  auto pattern = Pattern::compile("throughput: ([0-9.]+) tok/s");
  EXPECT_EQ(pattern->groups(), 1U);
  EXPECT_EQ(pattern->first_group("x throughput: 12.5 tok/s y"), "12.5");
  EXPECT_FALSE(pattern->first_group("latency: 3"));
}

TEST(Pattern, WhatIsNone) {
  auto pattern = Pattern::compile("([0-9");
  ASSERT_FALSE(pattern);
  EXPECT_EQ(pattern.error().exit_status(), 64);
}

TEST(Pattern, LongTextIsCutAndDoesNotExhaustTheStack) {
  auto pattern = Pattern::compile("(a|b)*c");
  EXPECT_FALSE(pattern->found_in(std::string(10'000'000, 'a') + "c"));
  EXPECT_TRUE(Pattern::compile("a+")->found_in(std::string(10'000'000, 'a')));
}

}  // namespace
}  // namespace kvet
