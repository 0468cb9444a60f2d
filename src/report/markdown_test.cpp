#include "report/markdown.h"

#include <gtest/gtest.h>

namespace kvet::report {
namespace {

TEST(Markdown, ProseShowsAsItself) {
  EXPECT_EQ(markdown_text("plain words, 1.5 (2 to 3)"), "plain words, 1.5 (2 to 3)");
  EXPECT_EQ(markdown_text("<script>a & b</script>"), "&lt;script&gt;a &amp; b&lt;/script&gt;");
  EXPECT_EQ(markdown_text("a|b"), "a&#124;b");
  EXPECT_EQ(markdown_text("a\\|b"), "a\\\\&#124;b");
  EXPECT_EQ(markdown_text("`x` *y* _z_ ~s~ [t](u) $m$"), "\\`x\\` \\*y\\* \\_z\\_ \\~s\\~ \\[t\\](u) \\$m\\$");
  EXPECT_EQ(markdown_text("a\nb\x1b[0m\xff"), "a\\\\nb\\\\x1b\\[0m\ufffd");
}

TEST(Markdown, NobodyIsCalledAndNothingIsLinked) {
  EXPECT_EQ(markdown_text("@someone #12 a@b.c"), "@\u200bsomeone \\#\u200b12 a@\u200bb.c");
  EXPECT_EQ(markdown_text("see https://x.y and www.x.y"), "see https:\u200b//x.y and www\u200b.x.y");
}

TEST(Markdown, TheBeginningOfALineIsNoMarkup) {
  EXPECT_EQ(markdown_text("# x"), "\\#\u200b x");
  EXPECT_EQ(markdown_text("- x"), "\u200b- x");
  EXPECT_EQ(markdown_text("12. x"), "\u200b12. x");
  EXPECT_EQ(markdown_text("> x"), "&gt; x");
  EXPECT_EQ(markdown_text("---"), "\u200b---");
  EXPECT_EQ(markdown_text("-0.5 µs"), "-0.5 µs");
  EXPECT_EQ(markdown_text("2.50 (2 to 3)"), "2.50 (2 to 3)");
}

TEST(Markdown, CodeCannotBeLeft) {
  EXPECT_EQ(markdown_code("f<int>(a, b)"), "`f<int>(a, b)`");
  EXPECT_EQ(markdown_code("a`b|c\nd"), "`a\\x60b\\x7cc\\nd`");
  EXPECT_EQ(markdown_code("  "), "`\\x20\\x20`");
  EXPECT_EQ(markdown_code(""), "");
  const std::string longest = markdown_code(std::string(100'000, 'x'), 20);
  EXPECT_EQ(longest, "`xxxxxxxxxx…xxxxxxxxx`");
}

TEST(Markdown, TablesHaveARuleWithAlignment) {
  EXPECT_EQ(markdown_table({"a", "b"}, "01", {{"x", "1"}}), "| a | b |\n| :--- | ---: |\n| x | 1 |\n");
}

TEST(Markdown, SummariesAreHtmlText) {
  EXPECT_EQ(markdown_details("<b>", "body"), "<details><summary>&lt;b&gt;</summary>\n\nbody\n</details>\n");
}

}  // namespace
}  // namespace kvet::report
