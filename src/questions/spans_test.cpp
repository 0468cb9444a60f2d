#include "questions/spans.h"

#include <gtest/gtest.h>

#include <random>

namespace kvet::questions {
namespace {

TEST(SpanSet, MergesWhatOverlapsOrTouches) {
  const SpanSet set{{{30, 40}, {10, 20}, {20, 25}, {35, 50}, {60, 60}, {70, 65}}};
  EXPECT_EQ(set.spans(), (std::vector<Span>{{10, 25}, {30, 50}}));
  EXPECT_EQ(set.total(), 35);
}

TEST(SpanSet, Covered) {
  const SpanSet set{{{10, 20}, {30, 40}}};
  EXPECT_EQ(set.covered(0, 100), 20);
  EXPECT_EQ(set.covered(15, 35), 10);
  EXPECT_EQ(set.covered(20, 30), 0);
  EXPECT_EQ(set.covered(12, 13), 1);
  EXPECT_EQ(set.covered(35, 35), 0);
  EXPECT_EQ(set.covered(40, 10), 0);
  EXPECT_TRUE(set.contains(10));
  EXPECT_FALSE(set.contains(20));
  EXPECT_EQ(SpanSet{}.covered(0, 10), 0);
}

// Against one flag per point in time.
TEST(SpanSet, SetArithmetic) {
  std::mt19937 random{1};
  for (int round = 0; round < 300; ++round) {
    auto draw = [&](std::vector<bool>& points) {
      std::vector<Span> spans;
      for (int i = 0; i < 6; ++i) {
        const int64_t from = random() % 60, to = from + random() % 12;
        spans.push_back({from, to});
        for (int64_t t = from; t < to; ++t) {
          points[static_cast<size_t>(t)] = true;
        }
      }
      return SpanSet{spans};
    };
    std::vector<bool> a_points(80), b_points(80);
    const SpanSet a = draw(a_points), b = draw(b_points);
    const SpanSet both = intersection(a, b), left = difference(a, b);
    int64_t total = 0;
    for (size_t t = 0; t < 80; ++t) {
      const auto time = static_cast<int64_t>(t);
      ASSERT_EQ(a.contains(time), a_points[t]);
      ASSERT_EQ(both.contains(time), a_points[t] && b_points[t]);
      ASSERT_EQ(left.contains(time), a_points[t] && !b_points[t]);
      total += a_points[t] ? 1 : 0;
    }
    ASSERT_EQ(a.total(), total);
  }
}

}  // namespace
}  // namespace kvet::questions
