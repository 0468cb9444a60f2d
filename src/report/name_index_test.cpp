#include "report/name_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kvet::report {
namespace {

TEST(NameIndex, FindsInOthersOnly) {
  NameIndex index;
  index.add("rms_norm", 0);
  index.add("ns::rms_norm(float*)", 0);
  index.add("rms_norm2", 1);
  index.add("relu", 2);
  EXPECT_TRUE(index.in_another("rms_norm", 0));
  EXPECT_FALSE(index.in_another("rms_norm(", 0)) << "in its own second text only";
  EXPECT_FALSE(index.in_another("rms_norm2", 1));
  EXPECT_TRUE(index.in_another("rms_norm2", 0));
  EXPECT_TRUE(index.in_another("re", 0)) << "shorter than what is indexed";
  EXPECT_FALSE(index.in_another("re", 2));
  EXPECT_TRUE(index.in_another("", 2));
  EXPECT_FALSE(index.in_another("relu6", 0));
}

// Against reading all, over an alphabet so small that most literals are somewhere.
TEST(NameIndex, AgreesWithReadingAll) {
  std::mt19937 random{3};
  const auto word = [&](size_t longest) {
    std::string text(random() % (longest + 1), ' ');
    for (char& c : text) {
      c = "ab_"[random() % 3];
    }
    return text;
  };
  for (int round = 0; round < 50; ++round) {
    NameIndex index;
    std::vector<std::pair<std::string, uint32_t>> all;
    for (int i = 0; i < 30; ++i) {
      all.emplace_back(word(12), random() % 10);
      index.add(all.back().first, all.back().second);
    }
    for (int i = 0; i < 200; ++i) {
      const std::string literal = word(8);
      const uint32_t own = random() % 10;
      const bool expected = std::ranges::any_of(
          all, [&](const auto& text) { return text.second != own && text.first.find(literal) != std::string::npos; });
      ASSERT_EQ(index.in_another(literal, own), expected) << literal;
    }
  }
}

}  // namespace
}  // namespace kvet::report
