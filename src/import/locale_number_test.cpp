#include "import/locale_number.h"

#include <gtest/gtest.h>

namespace kvet::importing {
namespace {

TEST(LocaleNumber, ThousandsAndDecimals) {
  EXPECT_EQ(locale_number("4,963,609,951.19", '.'), 4963609951.19);
  EXPECT_EQ(locale_number("4.963.609.951,19", ','), 4963609951.19);
  EXPECT_EQ(locale_number("12 319 469,5", ','), 12319469.5);
  EXPECT_EQ(locale_number("12\xc2\xa0"
                          "319\xe2\x80\xaf"
                          "469,5",
                          ','),
            12319469.5);
  EXPECT_EQ(locale_number("12'319'469.5", '.'), 12319469.5);
  EXPECT_EQ(locale_number("1,024", '.'), 1024);
  EXPECT_EQ(locale_number("1,024", ','), 1.024);
  EXPECT_EQ(locale_number("-0.5", '.'), -0.5);
  EXPECT_EQ(locale_number("1.5e+03", '.'), 1500);
  EXPECT_EQ(locale_number("61", '.'), 61);
}

TEST(LocaleNumber, WhatIsNone) {
  for (const char* text : {"", "n/a", "12,34", "1,2345", "12345,678", "1.2.3", ",123", "1,,234", "0x10", "inf", "nan",
                           "1 2", "1e", "%", "12,345,67.8"}) {
    EXPECT_EQ(locale_number(text, '.'), std::nullopt) << text;
  }
  EXPECT_EQ(locale_number(std::string(100'000, '1'), '.'), std::nullopt);
}

char decided(std::initializer_list<const char*> texts) {
  DecimalMark mark;
  for (const char* text : texts) {
    mark.see(text, 1);
  }
  return mark.decide("file").value_or('?');
}

TEST(DecimalMark, IsFoundByWhatSaysIt) {
  EXPECT_EQ(decided({"1,024", "61.84"}), '.');
  EXPECT_EQ(decided({"1.024", "61,84"}), ',');
  EXPECT_EQ(decided({"1.234.567"}), ',');
  EXPECT_EQ(decided({"1,234,567"}), '.');
  EXPECT_EQ(decided({"1,234,567.8"}), '.');
  EXPECT_EQ(decided({"1.234,5"}), ',');
  EXPECT_EQ(decided({"0,125"}), ',');
  EXPECT_EQ(decided({"1,024"}), '.');  // does not say: as ncu writes without a locale
  EXPECT_EQ(decided({"CachePreferNone", "n/a", ""}), '.');
  EXPECT_EQ(decided({"61.84", "61,84"}), '?');
}

}  // namespace
}  // namespace kvet::importing
