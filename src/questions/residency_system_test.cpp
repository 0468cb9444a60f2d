#include "questions/residency_system.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "questions/residency_range.h"
#include "questions/residency_sets.h"

namespace kvet::questions {
namespace {

// Hopper: 64 warps, 65,536 registers, 228 KiB of shared memory per SM.
ShapeVector vector_of(double registers_per_thread, double shared_kib_per_warp) {
  ShapeVector vector;
  vector.known = true;
  vector.registers = registers_per_thread * 32 / 65536 * 64;
  vector.shared = shared_kib_per_warp / 228 * 64;
  return vector;
}

Readings readings_of(const std::vector<ShapeVector>& vectors, const std::vector<double>& shares) {
  Readings readings{0, 0.0, 0.0};
  for (size_t k = 0; k < vectors.size(); ++k) {
    readings.warps += vectors[k].alive * shares[k];
    *readings.registers += vectors[k].registers * shares[k];
    *readings.shared += vectors[k].shared * shares[k];
  }
  return readings;
}

std::vector<Unknown> unknowns_of(const std::vector<ShapeVector>& vectors, double high = 0.5) {
  std::vector<Unknown> unknowns;
  for (const ShapeVector& vector : vectors) {
    unknowns.push_back({&vector, 0, high, high / 2, unknowns.empty()});
  }
  return unknowns;
}

TEST(ResidencySystem, ThreeShapesThreeReadings) {
  const std::vector<ShapeVector> vectors{vector_of(32, 1), vector_of(128, 2), vector_of(64, 16)};
  std::mt19937 random{1};
  std::uniform_real_distribution<double> share{0, 0.3};
  SampleSystem system;
  for (int round = 0; round < 200; ++round) {
    const std::vector<double> truth{share(random), round % 3 == 0 ? 0 : share(random), share(random)};
    system.solve(unknowns_of(vectors), readings_of(vectors, truth));
    for (size_t k = 0; k < 3; ++k) {
      ASSERT_NEAR(system.values()[k], truth[k], 0.002);
      ASSERT_LT(system.of(k).prior_error, 0.001);
    }
    ASSERT_NEAR(system.own().value, truth[0], 0.002);
  }
}

// Errors of the readings move the estimate as far as it says: of 2000 estimates 95% lie within 1.96 of its standard errors.
TEST(ResidencySystem, ReadingErrorIsWhatItSays) {
  const std::vector<ShapeVector> vectors{vector_of(40, 2), vector_of(96, 1)};
  const std::vector<double> truth{0.2, 0.3};
  std::mt19937 random{2};
  std::normal_distribution<double> noise{1, reading_error};
  SampleSystem system;
  int inside = 0;
  for (int round = 0; round < 2000; ++round) {
    Readings readings = readings_of(vectors, truth);
    readings.warps *= noise(random);
    *readings.registers *= noise(random);
    *readings.shared *= noise(random);
    system.solve(unknowns_of(vectors, 1), readings);
    const Estimated own = system.own();
    inside += std::abs(own.value - truth[0]) <= 1.96 * std::hypot(own.reading_error, own.prior_error) ? 1 : 0;
  }
  EXPECT_NEAR(inside / 2000.0, 0.95, 0.02);
}

// Parallel vectors: their sum is known, and what each one has is open, as the error says.
TEST(ResidencySystem, ParallelVectorsStayOpen) {
  const std::vector<ShapeVector> vectors{vector_of(32, 1), vector_of(32, 1), vector_of(128, 1)};
  SampleSystem system;
  std::vector<Unknown> unknowns = unknowns_of(vectors);
  system.solve(unknowns, readings_of(vectors, {0.1, 0.3, 0.2}));
  EXPECT_NEAR(system.values()[0] + system.values()[1], 0.4, 0.003);
  EXPECT_NEAR(system.values()[2], 0.2, 0.003);
  // The difference of two uniform variables of width 0.5, halved: 0.5 ÷ √12 ÷ √2.
  EXPECT_NEAR(system.own().prior_error, 0.5 / std::sqrt(24.0), 0.002);
  // Both of K: nothing is open any more.
  unknowns[1].own = true;
  system.solve(unknowns, readings_of(vectors, {0.1, 0.3, 0.2}));
  EXPECT_LT(system.own().prior_error, 0.001);
}

// A kernel that overlaps a hundredth of the sample cannot disturb the rest.
TEST(ResidencySystem, ShortOverlapsAreResolvedByTheirBoxes) {
  const std::vector<ShapeVector> vectors{vector_of(32, 1), vector_of(32, 1)};
  std::vector<Unknown> unknowns = unknowns_of(vectors);
  unknowns[1].high = 0.005;
  unknowns[1].prior = 0.0025;
  SampleSystem system;
  system.solve(unknowns, readings_of(vectors, {0.3, 0.004}));
  EXPECT_NEAR(system.own().value, 0.3, 0.003);
  EXPECT_LT(system.own().prior_error, 0.002);
}

// Against brute force: the extreme of a linear function over a polygon is at one of its grid points, to the grid's width.
TEST(ResidencyRange, AgreesWithAGrid) {
  std::mt19937 random{3};
  std::uniform_real_distribution<double> part{0, 1};
  for (int round = 0; round < 60; ++round) {
    const std::vector<ShapeVector> vectors{vector_of(32 + 100 * part(random), 1 + 3 * part(random)),
                                           vector_of(32 + 100 * part(random), 1 + 3 * part(random)),
                                           vector_of(32 + 100 * part(random), 1 + 3 * part(random))};
    std::vector<Unknown> unknowns = unknowns_of(vectors, 0.3);
    Readings readings = readings_of(vectors, {0.3 * part(random), 0.3 * part(random), 0.3 * part(random)});
    readings.shared.reset();
    SampleRange range;
    ASSERT_TRUE(range.prepare(unknowns, readings));
    const double weight[3] = {1, 0, 0};
    const ShareRange answer = range.of(weight);
    double least = 1, most = 0;
    constexpr int steps = 60;
    auto fits = [&](double sum, double reading) {
      return sum >= reading * (1 - range_tolerance) - 10 * reading_floor &&
             sum <= reading * (1 + range_tolerance) + 10 * reading_floor;
    };
    for (int i = 0; i <= steps; ++i) {
      for (int j = 0; j <= steps; ++j) {
        for (int k = 0; k <= steps; ++k) {
          const std::vector<double> y{0.3 * i / steps, 0.3 * j / steps, 0.3 * k / steps};
          const Readings sums = readings_of(vectors, y);
          if (fits(sums.warps, readings.warps) && fits(*sums.registers, *readings.registers)) {
            least = std::min(least, y[0]);
            most = std::max(most, y[0]);
          }
        }
      }
    }
    // No point of the grid lies outside; and where the grid hits the polygon, it comes near its corners.
    if (most >= least) {
      ASSERT_LE(answer.low, least + 1e-9);
      ASSERT_GE(answer.high, most - 1e-9);
      ASSERT_NEAR(answer.low, least, 0.05);
      ASSERT_NEAR(answer.high, most, 0.05);
    }
  }
}

TEST(ResidencyRange, SaysWhereNothingFits) {
  const std::vector<ShapeVector> vectors{vector_of(32, 1)};
  std::vector<Unknown> unknowns = unknowns_of(vectors, 0.5);
  SampleRange range;
  EXPECT_TRUE(range.prepare(unknowns, readings_of(vectors, {0.4})));
  EXPECT_FALSE(range.prepare(unknowns, readings_of(vectors, {0.6})));  // more than its box
  Readings readings = readings_of(vectors, {0.4});
  *readings.registers *= 1.2;  // somebody else's registers
  EXPECT_FALSE(range.prepare(unknowns, readings));
}

}  // namespace
}  // namespace kvet::questions
