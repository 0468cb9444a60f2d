#include "import/decimal.h"

#include <gtest/gtest.h>

namespace kvet::importing {
namespace {

TEST(Decimal, MicrosecondsBecomeNanosecondsExactly) {
  EXPECT_EQ(nanoseconds_of_microseconds("1661203462598738"), 1661203462598738000);
  EXPECT_EQ(nanoseconds_of_microseconds("4458676522690.655"), 4458676522690655);
  EXPECT_EQ(nanoseconds_of_microseconds("0.001"), 1);
  EXPECT_EQ(nanoseconds_of_microseconds("0"), 0);
  EXPECT_EQ(nanoseconds_of_microseconds("-12.5"), -12500);
  EXPECT_EQ(nanoseconds_of_microseconds("7.12"), 7120);
  // A double has 53 bits: 1775078550000123.457 µs in ns does not fit into one.
  EXPECT_EQ(nanoseconds_of_microseconds("1775078550000123.457"), 1775078550000123457);
}

TEST(Decimal, RoundsWhatIsSmallerThanANanosecond) {
  EXPECT_EQ(nanoseconds_of_microseconds("0.0004"), 0);
  EXPECT_EQ(nanoseconds_of_microseconds("0.0005"), 1);
  EXPECT_EQ(nanoseconds_of_microseconds("1.2345678"), 1235);
  EXPECT_EQ(nanoseconds_of_microseconds("-1.2345"), -1235);
}

TEST(Decimal, Exponents) {
  EXPECT_EQ(nanoseconds_of_microseconds("1.5e3"), 1'500'000);
  EXPECT_EQ(nanoseconds_of_microseconds("1.5E+3"), 1'500'000);
  EXPECT_EQ(nanoseconds_of_microseconds("15e-1"), 1500);
  EXPECT_EQ(nanoseconds_of_microseconds("1e-400"), 0);
  EXPECT_EQ(nanoseconds_of_microseconds("0e999999999999999999999"), 0);
  EXPECT_EQ(nanoseconds_of_microseconds("1e-999999999999999999999"), 0);
}

TEST(Decimal, BeyondTheRangeIsNothing) {
  EXPECT_EQ(nanoseconds_of_microseconds("1e400"), std::nullopt);
  EXPECT_EQ(nanoseconds_of_microseconds("1e999999999999999999999"), std::nullopt);
  EXPECT_EQ(nanoseconds_of_microseconds("4000000000000000"), 4'000'000'000'000'000'000);
  EXPECT_EQ(nanoseconds_of_microseconds("4000000000000000.001"), std::nullopt);
  EXPECT_EQ(nanoseconds_of_microseconds("-4000000000000000.001"), std::nullopt);
  EXPECT_EQ(nanoseconds_of_microseconds(std::string(4000, '9')), std::nullopt);
}

TEST(Decimal, WholeNumbers) {
  EXPECT_EQ(whole<uint32_t>("4294967295"), 4294967295u);
  EXPECT_EQ(whole<uint32_t>("4294967296"), std::nullopt);
  EXPECT_EQ(whole<uint32_t>("-1"), std::nullopt);
  EXPECT_EQ(whole<int64_t>("-549452224"), -549452224);
  EXPECT_EQ(whole<uint64_t>("1.0"), std::nullopt);
}

}  // namespace
}  // namespace kvet::importing
