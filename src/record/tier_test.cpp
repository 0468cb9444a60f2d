#include "record/tier.h"

#include <gtest/gtest.h>

#include "record/injection.h"

namespace kvet::record {
namespace {

const Means everything{.has_command = true, .no_bpf = {}, .no_injection = {}};
const Means no_bpf{.has_command = true, .no_bpf = "no root", .no_injection = {}};
const Means taken{.has_command = true, .no_bpf = {}, .no_injection = "another tool"};
const Means nothing{.has_command = true, .no_bpf = "no root", .no_injection = "another tool"};
const Means running{.has_command = false, .no_bpf = {}, .no_injection = {}};
const Means running_without_root{.has_command = false, .no_bpf = "no root", .no_injection = {}};

std::string base(TierChoice choice, const Means& means) {
  const auto plan = plan_tier(choice, means);
  return plan ? plan->base : "refused: " + plan.error().message();
}

TEST(Tier, TheBestThatTheMeansAllow) {
  EXPECT_EQ(base(TierChoice::automatic, everything), "device");
  EXPECT_EQ(base(TierChoice::automatic, taken), "host");
  EXPECT_EQ(base(TierChoice::automatic, no_bpf), "unprivileged");
  EXPECT_EQ(base(TierChoice::automatic, running), "host");
}

TEST(Tier, ADroppedTierSaysWhy) {
  EXPECT_EQ(plan_tier(TierChoice::automatic, everything)->reason, "");
  EXPECT_EQ(plan_tier(TierChoice::automatic, taken)->reason, "another tool");
  EXPECT_EQ(plan_tier(TierChoice::automatic, no_bpf)->reason, "no root");
}

TEST(Tier, ARunningProcessIsNeverInjectedInto) {
  EXPECT_FALSE(plan_tier(TierChoice::automatic, running)->inject);
  for (const TierChoice choice : {TierChoice::device, TierChoice::full, TierChoice::unprivileged}) {
    const auto plan = plan_tier(choice, running);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().kind, ErrorKind::usage);
  }
}

TEST(Tier, WhatWasAskedForIsGivenOrRefused) {
  EXPECT_EQ(base(TierChoice::host, everything), "host");
  EXPECT_FALSE(plan_tier(TierChoice::host, everything)->inject);
  EXPECT_EQ(base(TierChoice::unprivileged, everything), "unprivileged");
  EXPECT_FALSE(plan_tier(TierChoice::unprivileged, everything)->bpf);
  for (const Means& means : {no_bpf, taken, nothing}) {
    const auto plan = plan_tier(TierChoice::device, means);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().kind, ErrorKind::unavailable);
  }
  EXPECT_FALSE(plan_tier(TierChoice::host, no_bpf));
  EXPECT_FALSE(plan_tier(TierChoice::unprivileged, taken));
}

TEST(Tier, WithoutAnyMeansBothReasonsAreNamed) {
  for (const Means& means : {nothing, running_without_root}) {
    const auto plan = plan_tier(TierChoice::automatic, means);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().kind, ErrorKind::unavailable);
    EXPECT_NE(plan.error().message().find("no root"), std::string::npos);
  }
  EXPECT_NE(plan_tier(TierChoice::automatic, nothing).error().message().find("another tool"), std::string::npos);
}

TEST(Tier, NamesWithCounters) {
  EXPECT_EQ(tier_name({.base = "host"}, true), "host+counters");
  EXPECT_EQ(tier_name({.base = "device"}, true), "full");
  EXPECT_EQ(tier_name({.base = "unprivileged"}, true), "unprivileged");
  EXPECT_EQ(tier_name({.base = "device"}, false), "device");
}

TEST(Injection, ATakenVariableNamesItsHolder) {
  EXPECT_FALSE(injection_taken({"PATH=/bin"}));
  EXPECT_FALSE(injection_taken({"CUDA_INJECTION64_PATH="}));
  const auto taken_by = injection_taken({"CUDA_INJECTION64_PATH=/opt/nsight/libToolsInjection64.so"});
  ASSERT_TRUE(taken_by);
  EXPECT_NE(taken_by->find("/opt/nsight/libToolsInjection64.so"), std::string::npos);
  const auto ours = injection_taken({"CUDA_INJECTION64_PATH=/tmp/kvet-x/libkvet_inject.so"});
  ASSERT_TRUE(ours);
  EXPECT_NE(ours->find("kvet record"), std::string::npos);
}

TEST(Injection, SomebodyElsesNvtxIsLeftAlone) {
  Environment environment{"NVTX_INJECTION64_PATH=/opt/other.so", "A=1"};
  inject(environment, {.library = "/tmp/lib.so", .wait_for_probe = true, .discard = false, .memory_path = {}});
  EXPECT_EQ(variable(environment, "CUDA_INJECTION64_PATH"), "/tmp/lib.so");
  EXPECT_EQ(variable(environment, "NVTX_INJECTION64_PATH"), "/opt/other.so");
  EXPECT_EQ(variable(environment, "KVET_WAIT_MS"), "200");
  EXPECT_EQ(variable(environment, "A"), "1");
  EXPECT_FALSE(variable(environment, "KVET_DISCARD"));
  EXPECT_FALSE(variable(environment, "KVET_MEMORY_FD"));
}

}  // namespace
}  // namespace kvet::record
