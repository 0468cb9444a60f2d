// The statistics against theory: planted ratios with planted noise, thousands of seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "verdict/statistics.h"

namespace kvet::verdict {
namespace {

constexpr int repetitions = 6000;

// Four standard deviations of a proportion of `repetitions`: a right program fails once in 16,000 runs, and with a
// fixed seed never.
double tolerance(double probability) { return 4 * std::sqrt(probability * (1 - probability) / repetitions); }

// One quad: block noise of `deviation`, a drift that is linear within the quad, the candidate faster by `log_ratio`.
double quad(std::mt19937_64& random, double log_ratio, double deviation) {
  std::normal_distribution<double> noise(0, deviation), slope(0, 0.05);
  double drift = slope(random);
  std::array<double, 4> blocks{};
  for (size_t i = 0; i < 4; ++i) {
    bool candidate = i == 1 || i == 2;
    blocks[i] = std::exp(5 - (candidate ? log_ratio : 0) + drift * static_cast<double>(i) + noise(random));
  }
  return contrast({blocks[0], blocks[3]}, {blocks[1], blocks[2]});
}

TEST(Simulation, EachLookCoversTheTruthAsOftenAsItSays) {
  for (uint64_t look : looks) {
    std::mt19937_64 random(look);
    int covered = 0;
    for (int i = 0; i < repetitions; ++i) {
      std::vector<double> units;
      units.reserve(look);
      for (uint64_t unit = 0; unit < look; ++unit) {
        units.push_back(quad(random, std::log(1.3), 0.03));
      }
      LogInterval interval = *t_interval(units, look_confidence);
      covered += interval.low <= std::log(1.3) && std::log(1.3) <= interval.high ? 1 : 0;
    }
    EXPECT_NEAR(covered / double{repetitions}, 0.983, tolerance(0.983)) << look;
  }
}

struct Outcome {
  double wrong = 0, right = 0, undecided = 0;
};
// Looks at 4, 8 and 16 quads and stops at the first word.
Outcome outcomes(double ratio, double claim, double deviation, Word truth) {
  std::mt19937_64 random(static_cast<uint64_t>(ratio * 1000));
  Cuts cuts = *cuts_for_claim(claim);
  Outcome outcome;
  for (int i = 0; i < repetitions; ++i) {
    std::vector<double> units;
    Word word = Word::inconclusive;
    for (uint64_t look : looks) {
      while (units.size() < look) {
        units.push_back(quad(random, std::log(ratio), deviation));
      }
      word = word_of(*t_interval(units, look_confidence), cuts);
      if (word != Word::inconclusive) {
        break;
      }
    }
    (word == Word::inconclusive ? outcome.undecided
     : word == truth            ? outcome.right
                                : outcome.wrong) += 1.0 / repetitions;
  }
  return outcome;
}

TEST(Simulation, WrongWordsStayBelowFivePercent) {
  // The hardest truths: just inside a range, at every cut, with noise from small to as large as the ranges.
  for (double deviation : {0.005, 0.02, 0.05}) {
    for (auto [ratio, truth] : {std::pair{0.979, Word::regresses},
                                {0.982, Word::vanishes},
                                {1.019, Word::vanishes},
                                {1.021, Word::partial},
                                {std::pow(1.38, 0.8) - 0.001, Word::partial},
                                {std::pow(1.38, 0.8) + 0.001, Word::survives}}) {
      Outcome outcome = outcomes(ratio, 1.38, deviation, truth);
      EXPECT_LE(outcome.wrong, 0.051 + tolerance(0.051)) << ratio << " with noise " << deviation;
    }
  }
}

TEST(Simulation, ClearTruthsAreFound) {
  EXPECT_GT(outcomes(1.38, 1.38, 0.01, Word::survives).right, 0.99);
  EXPECT_GT(outcomes(1.15, 1.38, 0.01, Word::partial).right, 0.99);
  EXPECT_GT(outcomes(1.00, 1.38, 0.005, Word::vanishes).right, 0.99);
  EXPECT_GT(outcomes(0.90, 1.38, 0.01, Word::regresses).right, 0.99);
}

TEST(Simulation, TheBaselineAgainstItselfIsRefusedOncePerHundred) {
  std::mt19937_64 random(99);
  int refused = 0;
  for (int i = 0; i < repetitions; ++i) {
    std::vector<double> units;
    units.reserve(least_aa_quads);
    for (uint64_t unit = 0; unit < least_aa_quads; ++unit) {
      units.push_back(quad(random, 0, 0.03));
    }
    LogInterval interval = *t_interval(units, aa_confidence);
    refused += interval.low > 0 || interval.high < 0 ? 1 : 0;
  }
  EXPECT_NEAR(refused / double{repetitions}, 0.01, tolerance(0.01));
}

}  // namespace
}  // namespace kvet::verdict
