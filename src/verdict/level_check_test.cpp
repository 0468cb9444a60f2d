#include "verdict/level_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kvet::verdict {
namespace {

Level level(int number, std::optional<Interval> interval) {
  Level made;
  made.number = number;
  made.estimate = Estimate{1.2, interval, 0.983, 4, "quads"};
  return made;
}

TEST(LevelCheck, LevelThreeIsHeldAgainstTheClaimsThreshold) {
  Verdict verdict;
  verdict.margin_log = std::log(1.02);
  verdict.threshold_log = 0.8 * std::log(1.5);  // a ratio of 1.3832
  EXPECT_EQ(check_of(verdict, level(3, Interval{1.39, 1.6})), LevelCheck::passes);
  EXPECT_EQ(check_of(verdict, level(3, Interval{1.1, 1.38})), LevelCheck::fails);
  EXPECT_EQ(check_of(verdict, level(3, Interval{1.3, 1.5})), LevelCheck::undecided);
  verdict.threshold_log.reset();
  EXPECT_EQ(check_of(verdict, level(3, Interval{1.021, 1.1})), LevelCheck::passes);
  EXPECT_EQ(check_of(verdict, level(3, Interval{0.9, 1.01})), LevelCheck::fails);
}

TEST(LevelCheck, LevelFiveGuardsAgainstALossOfOnePercent) {
  const Verdict verdict;
  EXPECT_EQ(check_of(verdict, level(5, Interval{0.991, 1.2})), LevelCheck::passes);
  EXPECT_EQ(check_of(verdict, level(5, Interval{0.9, 0.989})), LevelCheck::fails);
  EXPECT_EQ(check_of(verdict, level(5, Interval{0.98, 1.02})), LevelCheck::undecided);
}

TEST(LevelCheck, TheOthersInform) {
  const Verdict verdict;
  for (const int number : {1, 2, 4}) {
    EXPECT_EQ(check_of(verdict, level(number, Interval{0.1, 0.2})), LevelCheck::informs);
  }
  EXPECT_EQ(check_of(verdict, level(3, std::nullopt)), LevelCheck::informs);
  EXPECT_EQ(check_of(verdict, Level{}), LevelCheck::unavailable);
}

TEST(Passes, OnlySurvivesUnlessAWordIsAccepted) {
  Verdict verdict;
  verdict.word = Word::survives;
  EXPECT_TRUE(passes(verdict, {}));
  verdict.likely = true;
  EXPECT_FALSE(passes(verdict, {"SURVIVES"}));
  EXPECT_TRUE(passes(verdict, {"PARTIAL", "INCONCLUSIVE"}));
  verdict = {};
  verdict.word = Word::partial;
  EXPECT_FALSE(passes(verdict, {}));
  EXPECT_TRUE(passes(verdict, {"PARTIAL"}));
}

}  // namespace
}  // namespace kvet::verdict
