#include "report/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/safe_text.h"

namespace kvet::report {
namespace {

TEST(FormatValue, TimesTakeAFittingPrefix) {
  EXPECT_EQ(format_value(0, "ns"), "0 ns");
  EXPECT_EQ(format_value(850, "ns"), "850 ns");
  EXPECT_EQ(format_value(12.5, "ns"), "12.5 ns");
  EXPECT_EQ(format_value(1234, "ns"), "1.23 µs");
  EXPECT_EQ(format_value(12'345, "ns"), "12.3 µs");
  EXPECT_EQ(format_value(123'456, "ns"), "123 µs");
  EXPECT_EQ(format_value(999'900, "ns"), "1.00 ms");
  EXPECT_EQ(format_value(-2'500'000, "ns"), "-2.50 ms");
  EXPECT_EQ(format_value(1.5e9, "ns"), "1.50 s");
  EXPECT_EQ(format_value(5.4321e12, "ns"), "5,432 s");
}

TEST(FormatValue, OtherUnits) {
  EXPECT_EQ(format_value(4.02e12, "bytes/s"), "4.02 TB/s");
  EXPECT_EQ(format_value(812.4e9, "bytes/s"), "812 GB/s");
  EXPECT_EQ(format_value(16'777'216, "bytes"), "16.8 MB");
  EXPECT_EQ(format_value(1.752e9, "Hz"), "1.75 GHz");
  EXPECT_EQ(format_value(87.5, "%"), "87.5 %");
  EXPECT_EQ(format_value(9.999, "%"), "10.0 %");
  EXPECT_EQ(format_value(100, "%"), "100 %");
  EXPECT_EQ(format_value(1.38, "ratio"), "1.38");
  EXPECT_EQ(format_value(1, "ratio"), "1.00");
  EXPECT_EQ(format_value(50'000, "count"), "50,000");
  EXPECT_EQ(format_value(48, "warps"), "48 warps");
}

TEST(FormatValue, OddNumbersAreNoNonsense) {
  EXPECT_EQ(format_value(std::nan(""), "ns"), "? ns");
  EXPECT_EQ(format_value(std::numeric_limits<double>::infinity(), "ratio"), "∞");
  EXPECT_EQ(format_value(-0.0001, "%"), "0.00 %");
  for (double value : {1e-300, 1e14, -1e14, 123456789.0}) {
    for (const char* unit : {"ns", "bytes/s", "bytes", "ratio"}) {
      EXPECT_LE(display_width(format_value(value, unit)), 20u);
    }
  }
}

TEST(FormatInterval, SharesTheValuesUnit) {
  EXPECT_EQ(format_interval({11'900, 12'800}, 12'300, "ns"), "[11.9, 12.8]");
  EXPECT_EQ(format_interval({900, 1'300}, 1'100, "ns"), "[0.90, 1.30]");
  EXPECT_EQ(format_interval({1.31, 1.45}, 1.38, "ratio"), "[1.31, 1.45]");
  EXPECT_EQ(format_interval({70, 80}, 75, "%"), "[70, 80]");
}

TEST(FormatCount, GroupsDigits) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1'000), "1,000");
  EXPECT_EQ(format_count(18446744073709551615u), "18,446,744,073,709,551,615");
}

}  // namespace
}  // namespace kvet::report
