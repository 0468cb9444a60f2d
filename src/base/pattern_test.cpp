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

TEST(Pattern, AnExpressionCannotExhaustTheStack) {
  for (const auto& hostile : {std::string(1'000'000, 'a'), std::string(100'000, '(') + std::string(100'000, ')')}) {
    auto pattern = Pattern::compile(hostile);
    ASSERT_FALSE(pattern);
    EXPECT_EQ(pattern.error().exit_status(), 64);
    EXPECT_LT(pattern.error().message().size(), 300U);
  }
  const size_t half = Pattern::expression_limit / 2;
  auto deepest = Pattern::compile(std::string(half, '(') + std::string(half, ')'));
  ASSERT_TRUE(deepest) << deepest.error().message();
  EXPECT_TRUE(deepest->found_in("x"));
}

// With a matcher that backtracks these would take 2^60 steps.
TEST(Pattern, ASearchEnds) {
  EXPECT_FALSE(Pattern::compile("^(a+)+$")->found_in(std::string(60, 'a') + "b"));
  EXPECT_FALSE(Pattern::compile("(a|aa)+c")->first_group(std::string(200, 'a')));
  EXPECT_FALSE(Pattern::compile("(a)\\1"));  // what it cannot do
}

}  // namespace
}  // namespace kvet
