#include "report/rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/json.h"

namespace kvet::report {
namespace {

std::string written(RowFormat format, const std::vector<std::string>& columns,
                    const std::vector<std::vector<Cell>>& rows, bool terminal = false) {
  std::string text;
  const auto writer = make_row_writer(format, columns, [&](std::string_view piece) { text += piece; }, terminal);
  for (const auto& row : rows) {
    writer->row(row);
  }
  writer->end();
  return text;
}

const std::vector<Cell> every_kind{int64_t{-9223372036854775807 - 1},
                                   0.1,
                                   1e300,
                                   std::string_view("a\"b\n"),
                                   Blob{std::string_view("\x0a\xff")},
                                   std::monostate{}};
const std::vector<std::string> six{"a", "b", "c", "d", "e", "f"};

TEST(Rows, CsvKeepsEveryDigitAndTellsKindsApart) {
  EXPECT_EQ(written(RowFormat::csv, six, {every_kind}),
            "\"a\",\"b\",\"c\",\"d\",\"e\",\"f\"\n-9223372036854775808,0.1,1e+300,\"a\"\"b\n\",x'0aff',\n");
  EXPECT_EQ(
      written(RowFormat::csv, {"n", "t"}, {{std::monostate{}, std::string_view("")}, {2.0, std::string_view("2")}}),
      "\"n\",\"t\"\n,\"\"\n2.0,\"2\"\n");
}

TEST(Rows, RealsReadBackAsTheSameNumber) {
  for (const double value : {0.1 + 0.2, 1.0 / 3, 5e-324, 1.7976931348623157e308, -2.2250738585072014e-308, 1e22}) {
    const std::string text = written(RowFormat::jsonl, {"v"}, {{value}});
    const auto parsed = Json::parse(text, "test");
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ((*parsed)["v"].number(), value);
  }
}

TEST(Rows, JsonIsAnArrayOfObjectsWithDistinctKeys) {
  EXPECT_EQ(
      written(RowFormat::json, {"a", "a", "a_2"}, {{int64_t{1}, std::monostate{}, INFINITY}, {-INFINITY, 2.0, Blob{}}}),
      "[\n{\"a\": 1, \"a_2\": null, \"a_2_2\": \"Infinity\"},\n{\"a\": \"-Infinity\", \"a_2\": 2.0, \"a_2_2\": "
      "{\"hex\": \"\"}}\n]\n");
  EXPECT_EQ(written(RowFormat::json, {"a"}, {}), "[]\n");
  EXPECT_EQ(written(RowFormat::jsonl, {"a"}, {}), "");
}

TEST(Rows, TableAlignsNumbersAndCutsLongText) {
  EXPECT_EQ(written(RowFormat::table, {"name", "n"}, {{std::string_view("x"), int64_t{5}}, {std::monostate{}, 1234.5}}),
            "name       n\n----  ------\nx          5\nNULL  1234.5\n");
  const std::string longest(100'000, 'x');
  const std::string text = written(RowFormat::table, {"name"}, {{std::string_view(longest)}});
  EXPECT_LT(text.size(), 400u);
  EXPECT_NE(text.find("…"), std::string::npos);
}

TEST(Rows, TableWithManyRowsGoesOnWithTheSameColumns) {
  std::vector<std::vector<Cell>> rows(2000, {int64_t{7}, std::string_view("t")});
  const std::string text = written(RowFormat::table, {"n", "t"}, rows);
  EXPECT_EQ(text.size(), 2002 * std::string_view("n  t\n").size());
}

TEST(Rows, HostileTextIsHarmlessOnATerminalAndExactElsewhere) {
  const std::string hostile = "\x1b[2J\u009b\u202e<script>\xff";
  const std::vector<std::vector<Cell>> rows{{std::string_view(hostile)}};
  const auto harmless = [](const std::string& text) {
    for (const char c : text) {
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << text;
    }
    EXPECT_EQ(text.find("\u009b"), std::string::npos);
    EXPECT_EQ(text.find("\u202e"), std::string::npos);
    EXPECT_EQ(text.find('\xff'), std::string::npos);
  };
  harmless(written(RowFormat::table, {hostile}, rows));
  harmless(written(RowFormat::csv, {hostile}, rows, true));
  harmless(written(RowFormat::jsonl, {hostile}, rows));
  const std::string valid = "\x1b[2J\u009b\u202e<script>\ufffd";
  EXPECT_EQ(written(RowFormat::csv, {"x"}, rows), "\"x\"\n\"" + valid + "\"\n");
  const auto parsed = Json::parse(written(RowFormat::jsonl, {"x"}, rows), "test");
  ASSERT_TRUE(parsed);
  EXPECT_EQ((*parsed)["x"].string(), valid);
}

}  // namespace
}  // namespace kvet::report
