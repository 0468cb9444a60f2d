#include "record/calibration_facts.h"

#include <gtest/gtest.h>

namespace kvet::record {
namespace {

const std::string here = "0123456789abcdef0123456789abcdef", elsewhere = "ffffffffffffffffffffffffffffffff";

capability::FoundCalibration planted(const std::string& uuid) {
  capability::FoundCalibration found{"/cache/" + uuid + ".toml", uuid, {}, {}};
  found.calibration.uuid = uuid;
  found.calibration.time = "2026-11-30T22:00:00Z";
  for (size_t i = 0; i < found.calibration.rates.size(); ++i) {
    found.calibration.rates[i].best = 4'000'000'000'000 + i;
    found.calibration.rates[i].median = 1;
  }
  return found;
}

TEST(CalibrationFacts, AreTheBestRatesInWholeBytesPerSecond) {
  const CalibrationFacts facts = calibration_facts({planted(here), planted(elsewhere)}, {here});
  const std::string prefix = "calibration.dram." + here + ".";
  EXPECT_EQ(facts.facts, (std::vector<std::pair<std::string, std::string>>{
                             {prefix + "read", "4000000000000"},
                             {prefix + "write", "4000000000001"},
                             {prefix + "read_write_1_1", "4000000000002"},
                             {prefix + "read_write_2_1", "4000000000003"},
                             {prefix + "random_sectors", "4000000000004"},
                             {prefix + "time", "2026-11-30T22:00:00Z"},
                         }));
  EXPECT_TRUE(facts.ignored.empty());
}

TEST(CalibrationFacts, WhatDoesNotCountIsSaidAndNotCopied) {
  capability::FoundCalibration old = planted(here);
  old.ignored = "made with driver 1, and 2 runs now";
  const CalibrationFacts facts = calibration_facts({old}, {here});
  EXPECT_TRUE(facts.facts.empty());
  ASSERT_EQ(facts.ignored.size(), 1U);
  EXPECT_NE(facts.ignored[0].find("made with driver 1"), std::string::npos);
  // Of a GPU of another machine that shares the home folder, nothing is said at all.
  EXPECT_TRUE(calibration_facts({old}, {elsewhere}).ignored.empty());
}

}  // namespace
}  // namespace kvet::record
