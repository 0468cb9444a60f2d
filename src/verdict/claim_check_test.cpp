#include "verdict/claim_check.h"

#include <gtest/gtest.h>

namespace kvet::verdict {
namespace {

// 10 executions of 100 µs in the baseline, of 50 µs in the candidate, on an H200.
struct Blocks {
  Blocks() {
    for (auto [block, time] : {std::pair{&baseline, 1e6}, std::pair{&candidate, 5e5}}) {
      block->devices = {{"00", "NVIDIA H200", {}}};
      block->set_time_ns = time;
      block->set_executions = 10;
    }
    candidate.arm = Arm::candidate;
  }
  [[nodiscard]] std::vector<Cause> check(const Claim& claim) const {
    return check_claim(claim, {&baseline, &candidate});
  }
  BlockSummary baseline, candidate;
};

TEST(ClaimCheck, AnotherGpuIsSaid) {
  const auto cautions = Blocks().check({.ratio = 2, .device = "NVIDIA L40S"});
  ASSERT_EQ(cautions.size(), 1U);
  EXPECT_EQ(cautions[0].code, "claim_other_gpu");
  EXPECT_EQ(cautions[0].what, "claim measured on NVIDIA L40S, captures on NVIDIA H200");
  EXPECT_TRUE(Blocks().check({.ratio = 2, .device = "H200"}).empty());
  EXPECT_TRUE(Blocks().check({.ratio = 2}).empty());
}

TEST(ClaimCheck, AResultThatNobodyTestedIsSaid) {
  const auto cautions = Blocks().check({.ratio = 2, .known_correct = false});
  ASSERT_EQ(cautions.size(), 1U);
  EXPECT_EQ(cautions[0].code, "claim_unverified");
  EXPECT_NE(cautions[0].what.find("not known to be correct"), std::string::npos);
}

TEST(ClaimCheck, TimesInAnotherUnitAreSaid) {
  // 100 ms and 50 ms: microseconds written into a file whose unit is milliseconds.
  const auto cautions = Blocks().check({.ratio = 2, .baseline_ns = 1e8, .candidate_ns = 5e7});
  ASSERT_EQ(cautions.size(), 1U);
  EXPECT_EQ(cautions[0].code, "claim_units");
  EXPECT_NE(cautions[0].what.find("1000 times as long"), std::string::npos) << cautions[0].what;
  EXPECT_EQ(Blocks().check({.ratio = 2, .baseline_ns = 1e4, .candidate_ns = 5e3}).size(), 1U);
  // Nine times, or one arm alone: another shape, but no other unit.
  EXPECT_TRUE(Blocks().check({.ratio = 2, .baseline_ns = 9e5, .candidate_ns = 4.5e5}).empty());
  EXPECT_TRUE(Blocks().check({.ratio = 20, .baseline_ns = 1e6, .candidate_ns = 5e4}).empty());
}

}  // namespace
}  // namespace kvet::verdict
