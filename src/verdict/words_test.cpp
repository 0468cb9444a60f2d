#include "verdict/words.h"

#include <gtest/gtest.h>

#include <cmath>

#include "verdict/distributions.h"
#include "verdict/statistics.h"

namespace kvet::verdict {
namespace {

LogInterval around(double low_ratio, double high_ratio) {
  double low = std::log(low_ratio), high = std::log(high_ratio);
  return {(low + high) / 2, low, high, look_confidence, 4, (high - low) / 10};
}
Cuts cuts(double claim) { return *cuts_for_claim(claim); }

// Published tables of Student's t, two-sided 95% and 99%.
TEST(Distributions, MatchTables) {
  EXPECT_NEAR(t_half_width(0.95, 3), 3.182, 0.0005);
  EXPECT_NEAR(t_half_width(0.95, 15), 2.131, 0.0005);
  EXPECT_NEAR(t_half_width(0.99, 3), 5.841, 0.0005);
  EXPECT_NEAR(t_half_width(0.99, 1), 63.657, 0.0005);
  EXPECT_NEAR(t_probability(0, 7), 0.5, 1e-12);
}

TEST(Claim, CutsFollowTheDefinition) {
  // t = 0.8 · ln(claim): a claim of 1.38 survives from 1.38^0.8 = 1.2939 on.
  EXPECT_NEAR(std::exp(*cuts(1.38).threshold), std::pow(1.38, 0.8), 1e-12);
  EXPECT_DOUBLE_EQ(cuts(1.38).margin, std::log(1.02));
  EXPECT_FALSE(cuts_for_claim(std::nullopt)->threshold.has_value());
}

TEST(Claim, TooSmallIsAnErrorOfThePlan) {
  // 0.8 · ln(claim) ≤ ln 1.02 up to claim = 1.02^1.25 = 1.02506.
  EXPECT_FALSE(cuts_for_claim(1.02).has_value());
  EXPECT_FALSE(cuts_for_claim(1.025).has_value());
  EXPECT_TRUE(cuts_for_claim(1.026).has_value());
  EXPECT_FALSE(cuts_for_claim(0.7).has_value());
  EXPECT_EQ(cuts_for_claim(-1).error().kind, ErrorKind::usage);
  EXPECT_EQ(cuts_for_claim(1e308).error().kind, ErrorKind::usage);
}

TEST(Word, EachRangeAndTheGapsBetween) {
  Cuts c = cuts(1.5);  // t: 1.5^0.8 = 1.383
  EXPECT_EQ(word_of(around(0.80, 0.97), c), Word::regresses);
  EXPECT_EQ(word_of(around(0.985, 1.015), c), Word::vanishes);
  EXPECT_EQ(word_of(around(1.05, 1.35), c), Word::partial);
  EXPECT_EQ(word_of(around(1.39, 1.60), c), Word::survives);
  EXPECT_EQ(word_of(around(0.97, 1.00), c), Word::inconclusive);
  EXPECT_EQ(word_of(around(1.01, 1.10), c), Word::inconclusive);
  EXPECT_EQ(word_of(around(1.30, 1.45), c), Word::inconclusive);
  EXPECT_EQ(word_of({0.5, -HUGE_VAL, HUGE_VAL, 0.983, 1, 0}, c), Word::inconclusive);
}

TEST(Word, InconclusiveNamesWhatItSpans) {
  Cuts c = cuts(1.5);
  EXPECT_EQ(words_spanned(around(1.30, 1.45), c), (std::vector{Word::partial, Word::survives}));
  EXPECT_EQ(words_spanned(around(0.9, 1.45), c),
            (std::vector{Word::regresses, Word::vanishes, Word::partial, Word::survives}));
}

TEST(Word, WithoutAClaimNoGainSurvives) {
  Cuts c = *cuts_for_claim(std::nullopt);
  EXPECT_EQ(word_of(around(3, 4), c), Word::partial);
}

TEST(Gate, EndToEndDecidesOnlyDownwards) {
  EXPECT_EQ(gate_end_to_end(Word::survives, around(0.95, 0.985)), Word::regresses);
  EXPECT_EQ(gate_end_to_end(Word::survives, around(0.995, 1.2)), Word::survives);
  EXPECT_EQ(gate_end_to_end(Word::partial, around(0.98, 1.05)), Word::inconclusive);
  EXPECT_EQ(gate_end_to_end(Word::regresses, around(1.1, 1.2)), Word::regresses);
}

TEST(Units, HowManyMoreWouldDecide) {
  // Estimate ln 1.2, cut of 1.02 at distance ln(1.2 ÷ 1.02), deviation 0.2 per unit: the smallest n with
  // t(0.9915, n − 1) · 0.2 ÷ √n ≤ that distance is found here by the definition, one n at a time.
  Cuts c = cuts(2.0);  // t: 1.741, farther away than m
  LogInterval interval{std::log(1.2), 0, 0, look_confidence, 4, 0.2};
  double distance = std::log(1.2 / 1.02);
  uint64_t expected = 5;
  while (t_quantile(0.9915, static_cast<double>(expected) - 1) * 0.2 / std::sqrt(static_cast<double>(expected)) >
         distance) {
    ++expected;
  }
  EXPECT_EQ(units_to_decide(interval, c), expected);
  LogInterval on_the_cut{c.margin, 0, 0, look_confidence, 4, 0.2};
  EXPECT_FALSE(units_to_decide(on_the_cut, c).has_value());
}

TEST(ExitStatus, IsTheDocumentedOne) {
  EXPECT_EQ(exit_status(Word::survives, false), 0);
  EXPECT_EQ(exit_status(Word::partial, false), 10);
  EXPECT_EQ(exit_status(Word::vanishes, false), 11);
  EXPECT_EQ(exit_status(Word::regresses, false), 12);
  EXPECT_EQ(exit_status(Word::invalid, false), 13);
  EXPECT_EQ(exit_status(Word::inconclusive, false), 14);
  EXPECT_EQ(exit_status(Word::survives, true), 14);
  EXPECT_EQ(exit_status(Word::refused, false), 15);
}

TEST(Contrast, CancelsALinearDrift) {
  // ABBA with baseline 2 and candidate 1 in logarithm, and a drift of 0.1 per block.
  auto at = [](double value, int position) { return std::exp(value + 0.1 * position); };
  EXPECT_NEAR(contrast({at(2, 0), at(2, 3)}, {at(1, 1), at(1, 2)}), 1.0, 1e-12);
}

TEST(Looks, OnlyFourEightAndSixteen) {
  EXPECT_EQ(look_at(3), 0U);
  EXPECT_EQ(look_at(4), 4U);
  EXPECT_EQ(look_at(7), 4U);
  EXPECT_EQ(look_at(8), 8U);
  EXPECT_EQ(look_at(40), 16U);
}

}  // namespace
}  // namespace kvet::verdict
