#include "base/quantity.h"

#include <gtest/gtest.h>

namespace kvet {
namespace {

TEST(Duration, KnowsItsUnits) {
  EXPECT_EQ(parse_duration_ns("7ns", "x"), 7);
  EXPECT_EQ(parse_duration_ns("20us", "x"), 20'000);
  EXPECT_EQ(parse_duration_ns("20µs", "x"), 20'000);
  EXPECT_EQ(parse_duration_ns(" 1.5 ms ", "x"), 1'500'000);
  EXPECT_EQ(parse_duration_ns("2", "x"), 2'000'000'000);
  EXPECT_EQ(parse_duration_ns("0", "x"), 0);
  EXPECT_EQ(parse_duration_ns("0.25s", "x"), 250'000'000);
  EXPECT_EQ(parse_duration_ns("10m", "x"), 600'000'000'000);
  EXPECT_EQ(parse_duration_ns("1min", "x"), 60'000'000'000);
  EXPECT_EQ(parse_duration_ns("2h", "x"), 7'200'000'000'000);
}

TEST(Duration, RefusesWhatIsNone) {
  for (const char* text :
       {"", "s", "-1s", "-0s", "1 year", "1,5s", "nan", "inf", "1e3s", "1s2s", "0x10s", "300000000h"}) {
    const auto parsed = parse_duration_ns(text, "--delay");
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
    EXPECT_EQ(parsed.error().subject, "--delay");
  }
}

TEST(Claim, IsARatio) {
  EXPECT_EQ(parse_claim("1.38"), 1.38);
  EXPECT_EQ(parse_claim("1.38x"), 1.38);
  EXPECT_EQ(parse_claim(" 2 "), 2.0);
}

TEST(Claim, RefusesAPercentageWithBothReadings) {
  for (const char* text : {"38%", "38 %"}) {
    const auto parsed = parse_claim(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().exit_status(), 64);
    EXPECT_NE(parsed.error().message().find("1.38"), std::string::npos);
    EXPECT_NE(parsed.error().message().find("1.61"), std::string::npos);
  }
}

TEST(Claim, RefusesWhatIsNoRatio) {
  for (const char* text : {"", "fast", "-1.2", "0", "1,38", "nan", "inf", "1.3 times"}) {
    EXPECT_FALSE(parse_claim(text)) << text;
  }
}

}  // namespace
}  // namespace kvet
