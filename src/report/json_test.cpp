#include "report/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kvet::report {
namespace {

TEST(Json, WritesKeysInTheOrderTheyWereSet) {
  Json root = Json::object();
  root.set("z", 1).set("a", true).set("m", "x").set("z", 2);
  EXPECT_EQ(root.dump(), R"({"z":2,"a":true,"m":"x"})");
}

TEST(Json, WritesEveryTypeAndPrettyPrints) {
  Json list = Json::array();
  list.push(nullptr).push(-7).push(uint64_t{18446744073709551615u}).push(0.5).push("q\"\n").push(Json::object());
  EXPECT_EQ(list.dump(), R"([null,-7,18446744073709551615,0.5,"q\"\n",{}])");
  Json root = Json::object();
  root.set("a", Json::array().push(1));
  EXPECT_EQ(root.dump(2), "{\n  \"a\": [\n    1\n  ]\n}");
}

TEST(Json, OptionalsAndNumbersThatJsonLacksBecomeNull) {
  Json list = Json::array();
  list.push(std::optional<double>()).push(std::optional<double>(2.5)).push(std::nan(""));
  list.push(std::numeric_limits<double>::infinity());
  EXPECT_EQ(list.dump(), "[null,2.5,null,null]");
}

TEST(Json, InvalidUtf8IsReplacedInValuesAndKeys) {
  Json root = Json::object();
  root.set("k\xff", "a\xc3(");
  EXPECT_EQ(root.dump(), "{\"k\xef\xbf\xbd\":\"a\xef\xbf\xbd(\"}");
}

TEST(Json, HostileNamesAreEscapedAndComeBackUnchanged) {
  const std::string hostile = "<script>\x1b[31m\n\t\x01\"\\" + std::string(100'000, 'x');
  Json root = Json::object();
  root.set("name", hostile);
  const std::string text = root.dump();
  for (char byte : text) {
    EXPECT_GE(static_cast<unsigned char>(byte), 0x20);
  }
  auto back = Json::parse(text, "test");
  ASSERT_TRUE(back);
  EXPECT_EQ((*back)["name"].string(), hostile);
}

TEST(Json, ParsesIntoTypedValues) {
  auto root =
      Json::parse(R"({"a":[1,-2,2.5,"t",null,true],"b":{"c":9223372036854775807,"d":9223372036854775808}})", "test");
  ASSERT_TRUE(root);
  const auto& list = (*root)["a"].elements();
  ASSERT_EQ(list.size(), 6u);
  EXPECT_EQ(list[0].integer(), 1);
  EXPECT_EQ(list[1].integer(), -2);
  EXPECT_FALSE(list[1].unsigned_integer());
  EXPECT_FALSE(list[2].integer());
  EXPECT_EQ(list[2].number(), 2.5);
  EXPECT_EQ(list[3].string(), "t");
  EXPECT_TRUE(list[4].is_null());
  EXPECT_EQ(list[5].boolean(), true);
  EXPECT_EQ((*root)["b"]["c"].integer(), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE((*root)["b"]["d"].integer());
  EXPECT_EQ((*root)["b"]["d"].unsigned_integer(), 9223372036854775808u);
  EXPECT_TRUE((*root)["nothing"]["deeper"].is_null());
  EXPECT_FALSE(root->contains("nothing"));
  EXPECT_TRUE(root->contains("a"));
}

TEST(Json, BadTextIsBadInputThatNamesTheSubject) {
  const char* const texts[] = {"",    "{",        "[1,]",    "{\"a\":1,}",        "nul",
                               "1 2", "\"\xff\"", "[1e999]", "{\"a\":1 \"b\":2}", "// note\n1",
                               "NaN", "'a'"};
  for (const char* text : texts) {
    auto result = Json::parse(text, "verdict.json");
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(result.error().subject, "verdict.json");
    EXPECT_EQ(result.error().message().find('\n'), std::string::npos);
  }
}

TEST(Json, AKeyTwiceIsRefused) {
  auto result = Json::parse(R"({"a":1,"b":2,"a":3})", "f");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().what.find("\"a\""), std::string::npos);
}

TEST(Json, DepthIsLimitedExactly) {
  auto nested = [](int levels) {
    return std::string(static_cast<size_t>(levels), '[') + std::string(static_cast<size_t>(levels), ']');
  };
  EXPECT_TRUE(Json::parse(nested(Json::depth_limit), "f"));
  EXPECT_FALSE(Json::parse(nested(Json::depth_limit + 1), "f"));
  EXPECT_FALSE(Json::parse(std::string(1'000'000, '['), "f"));
}

TEST(Json, BuildingOnTheWrongTypeDoesNothing) {
  Json text("x");
  text.set("a", 1).push(2);
  EXPECT_EQ(text.dump(), "\"x\"");
  Json null;
  null.push(1);
  EXPECT_EQ(null.dump(), "[1]");
}

}  // namespace
}  // namespace kvet::report
