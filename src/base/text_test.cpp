#include "base/text.h"

#include <gtest/gtest.h>

namespace kvet {
namespace {

TEST(Printable, LeavesOrdinaryTextAlone) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("void f<int>(float*) 1 ÷ 2 = ½ 漢 🚀"), "void f<int>(float*) 1 ÷ 2 = ½ 漢 🚀");
}

TEST(Printable, EscapesWhatMovesTheCursor) {
  EXPECT_EQ(printable("a\033[2Jb\r\nc\td\x7f"), "a\\x1b[2Jb\\x0d\\x0ac\\x09d\\x7f");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\x00x");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");  // C1 CSI
}

TEST(Printable, EscapesWhatTurnsTheTextAround) {
  EXPECT_EQ(printable("a\u202e"
                      "b\u2028"
                      "c\u200b"),
            "a\\xe2\\x80\\xaeb\\xe2\\x80\\xa8c\\xe2\\x80\\x8b");
  EXPECT_EQ(printable("a\u2026\u2192"), "a\u2026\u2192");
}

TEST(Printable, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");              // overlong '/'
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");     // overlong, three bytes
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");     // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(printable("x\xe6\xbc"), "x\\xe6\\xbc");            // cut off
}

TEST(Trimmed, RemovesSpaceAtBothEnds) {
  EXPECT_EQ(trimmed(" \t a b\n"), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

TEST(EditDistance, MatchesTextbookExamples) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("flaw", "lawn"), 2U);
  EXPECT_EQ(edit_distance("same", "same"), 0U);
}

TEST(Nearest, OffersOnlyWhatIsNear) {
  const std::vector<std::string_view> commands{"record", "report", "try"};
  EXPECT_EQ(nearest("recrod", commands), "record");
  EXPECT_EQ(nearest("reprot", commands), "report");
  EXPECT_EQ(nearest("banana", commands), "");
  EXPECT_EQ(nearest("", commands), "");  // as far from "try" as "try" is long
}

}  // namespace
}  // namespace kvet
