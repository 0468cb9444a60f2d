#include "base/safe_text.h"

#include <gtest/gtest.h>

namespace kvet {
namespace {

TEST(SafeText, PlainTextIsUntouched) {
  EXPECT_EQ(safe_text("at::native::fill<float>(float*)"), "at::native::fill<float>(float*)");
  EXPECT_EQ(safe_text("<script>alert(1)</script>"), "<script>alert(1)</script>");  // HTML is the renderer's business
  EXPECT_EQ(safe_text("µs é 核"), "µs é 核");
  EXPECT_EQ(safe_text(""), "");
}

TEST(SafeText, ControlCharactersAreSpelledOut) {
  EXPECT_EQ(safe_text("\x1b[2J\x1b[31mred\x07"), "\\x1b[2J\\x1b[31mred\\x07");
  EXPECT_EQ(safe_text("a\nb\tc\rd"), "a\\nb\\tc\\x0dd");
  EXPECT_EQ(safe_text(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(safe_text("\x7f"), "\\x7f");
  EXPECT_EQ(safe_text("\xc2\x9b"
                      "31m"),
            "\\u009b31m");        // C1: one-byte CSI
  EXPECT_EQ(safe_text("a\xe2\x80\xae"
                      "b"),
            "a\\u202eb");       // right-to-left override
  EXPECT_EQ(safe_text("a\xe2\x80\x8b"
                      "b"),
            "a\\u200bb");       // zero-width space
  EXPECT_EQ(safe_text("\xf3\xa0\x81\x81"), "\\ue0041");         // a tag character
}

TEST(SafeText, BadUtf8IsReplaced) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(safe_text("a\xff"
                      "b"),
            "a" + r + "b");
  EXPECT_EQ(safe_text("\xc0\xaf"), r + r);              // overlong
  EXPECT_EQ(safe_text("\xed\xa0\x80"), r + r + r);      // surrogate
  EXPECT_EQ(safe_text("\xf4\x90\x80\x80"), r + r + r + r);  // above U+10FFFF
  EXPECT_EQ(safe_text("x\xe2\x82"), "x" + r + r);       // cut off
  EXPECT_EQ(safe_text("\xe2("), r + "(");
}

TEST(SafeText, LengthIsBoundedInColumns) {
  EXPECT_EQ(safe_text("abcdef", 6), "abcdef");
  EXPECT_EQ(safe_text("abcdefg", 6), "abcde…");
  EXPECT_EQ(safe_text("核核核", 6), "核核核");
  EXPECT_EQ(safe_text("核核核核", 6), "核核…");  // a wide character does not fit into the one column that is left
  EXPECT_EQ(safe_text("abcdefg", 1), "…");
  EXPECT_EQ(safe_text("abc", 0), "");
  EXPECT_LE(display_width(safe_text(std::string(100'000, '\x1b'), 80)), 80u);
  std::string stacked = "a";
  for (int mark = 0; mark < 50'000; ++mark) {
    stacked += "\xcc\x81";
  }
  EXPECT_LT(safe_text(stacked, 80).size(), 2000u);
}

TEST(SafeText, MiddleCutKeepsBothEnds) {
  EXPECT_EQ(safe_text_middle("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(safe_text_middle("abcdefghijk", 10), "abcde…hijk");
  const std::string cut = safe_text_middle("head" + std::string(100'000, 'x') + "tail", 20);
  EXPECT_EQ(display_width(cut), 20u);
  EXPECT_TRUE(cut.starts_with("head"));
  EXPECT_TRUE(cut.ends_with("tail"));
  EXPECT_LE(display_width(safe_text_middle("核核核核核核核核核核", 9)), 9u);
}

TEST(SafeText, WidthAndPadding) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("µs…"), 3u);
  EXPECT_EQ(display_width("核心"), 4u);
  EXPECT_EQ(display_width("한글"), 4u);
  EXPECT_EQ(display_width("e\xcc\x81"), 1u);
  EXPECT_EQ(display_width("\xf0\x9f\x98\x80"), 2u);
  EXPECT_EQ(pad_right("核", 4), "核  ");
  EXPECT_EQ(pad_left("12 µs", 7), "  12 µs");
  EXPECT_EQ(pad_left("long", 2), "long");
}

}  // namespace
}  // namespace kvet
