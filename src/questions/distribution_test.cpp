#include "questions/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kvet::questions {
namespace {

std::vector<Finding> of(std::vector<double> values, double half_width = 0) {
  std::vector<Finding> findings;
  append_distribution(
      findings, {Question::nccl, "nccl.wait", "subject", "rank 1", "Wait", "ns", Evidence::measured, half_width, 0},
      values);
  return findings;
}

TEST(Distribution, IntegersFromZeroToAHundredAreTheirOwnPercentiles) {
  std::vector<double> values;
  for (int value = 100; value >= 0; --value) {
    values.push_back(value);
  }
  const auto findings = of(values);
  ASSERT_EQ(findings.size(), 4u);
  const std::pair<const char*, double> expected[] = {
      {"nccl.wait.p50", 50}, {"nccl.wait.p90", 90}, {"nccl.wait.p99", 99}, {"nccl.wait.max", 100}};
  for (size_t index = 0; index < 4; ++index) {
    EXPECT_EQ(findings[index].id, expected[index].first);
    EXPECT_DOUBLE_EQ(*findings[index].value, expected[index].second);
    EXPECT_EQ(findings[index].observations, 101u);
    EXPECT_EQ(findings[index].beside, "rank 1");
    EXPECT_FALSE(findings[index].interval);
  }
}

TEST(Distribution, UniformAndExponentialHaveTheirTheoreticalPercentiles) {
  std::mt19937_64 random(7);
  std::vector<double> uniform, exponential;
  for (int i = 0; i < 200'000; ++i) {
    uniform.push_back(std::uniform_real_distribution<double>(0, 1)(random));
    exponential.push_back(std::exponential_distribution<double>(1)(random));
  }
  auto findings = of(uniform);
  // Standard error of a quantile is √(p(1−p)/n) ÷ density: 0.0011 at the median. Five of them.
  EXPECT_NEAR(*findings[0].value, 0.5, 0.006);
  EXPECT_NEAR(*findings[1].value, 0.9, 0.004);
  EXPECT_NEAR(*findings[2].value, 0.99, 0.0015);
  findings = of(exponential);
  EXPECT_NEAR(*findings[0].value, 0.6931, 0.012);   // ln 2
  EXPECT_NEAR(*findings[1].value, 2.3026, 0.035);   // ln 10
  EXPECT_NEAR(*findings[2].value, 4.6052, 0.12);    // ln 100
}

TEST(Distribution, OneValueIsEveryPercentileAndResidualsMakeIntervals) {
  const auto findings = of({30}, 50);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.value, 30);
    ASSERT_TRUE(finding.interval);
    EXPECT_EQ(finding.interval->low, 0);
    EXPECT_EQ(finding.interval->high, 80);
  }
}

}  // namespace
}  // namespace kvet::questions
