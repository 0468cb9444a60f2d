#include "questions/isolated.h"

#include <gtest/gtest.h>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

using Load = PlantedDevice::Load;

// Executions of 100 µs, all alone: half of the warp slots, 180 MB each. Grid 1056, blocks of 256, compute capability 9.0.
PlantedDevice workload(const std::string& name = "_Z5scalePfi") {
  PlantedDevice device;
  const ShapeId k = device.kernel(name);
  for (int64_t at = 0; at < 10'000'000; at += 501'300) {
    device.run(k, 7, at + 100'000, at + 200'000, Load{.warps = PlantedDevice::slots / 2, .read_bytes_per_ns = 1800});
  }
  device.sample(0, 11'000'000, 10'000);
  return device;
}

// Two launches: 40% of the slots over 3 of 4 cycles and 20% in the last, 60 MB, 50 µs.
IsolatedProfile profile(const std::string& name = "_Z5scalePfi") {
  IsolatedProfile made;
  made.path = "ncu.csv";
  made.tool = "Nsight Compute";
  made.kernels = {"other(int)", name};
  made.devices = {{"", 9, 0}};
  for (auto [cycles, occupancy] : {std::pair{75'000.0, 40.0}, std::pair{25'000.0, 20.0}}) {
    IsolatedLaunch launch;
    launch.kernel = 1;
    launch.grid = {1056, 1, 1};
    launch.block = {256, 1, 1};
    launch.cycles = {cycles, "Elapsed Cycles"};
    launch.occupancy_elapsed_percent = {occupancy, "e"};
    launch.occupancy_active_percent = {2 * occupancy, "a"};
    launch.duration_ns = {50'000, "Duration"};
    launch.dram_bytes = {60e6, "bytes"};
    made.launches.push_back(launch);
  }
  return made;
}

std::vector<Finding> ask(const PlantedDevice& device, const IsolatedProfile& isolated) {
  const KernelSet set = device.set(".");
  std::vector<Finding> answered = occupancy(device.capture, set);
  for (Finding& finding : dram(device.capture, set)) {
    answered.push_back(std::move(finding));
  }
  return against_profile(device.capture, set, isolated, answered);
}

const Finding& get(const std::vector<Finding>& findings, std::string_view id) {
  static const Finding none;
  const auto at = std::ranges::find(findings, id, &Finding::id);
  EXPECT_NE(at, findings.end()) << id;
  return at == findings.end() ? none : *at;
}

TEST(Isolated, HereAgainstThere) {
  const auto findings = ask(workload(), profile());
  EXPECT_DOUBLE_EQ(get(findings, "occupancy.isolated").value.value_or(0), 35);  // weighted by cycles
  EXPECT_DOUBLE_EQ(get(findings, "occupancy.isolated.active").value.value_or(0), 70);
  EXPECT_NEAR(get(findings, "occupancy.isolated.retained").value.value_or(0), 50.0 / 35, 1e-9);
  EXPECT_DOUBLE_EQ(get(findings, "occupancy.isolated.cycles").value.value_or(0), 50'000);
  EXPECT_DOUBLE_EQ(get(findings, "occupancy.isolated.slow_down").value.value_or(0), 2);
  EXPECT_DOUBLE_EQ(get(findings, "dram.isolated").value.value_or(0), 60e6);
  EXPECT_NEAR(get(findings, "dram.locality").value.value_or(0), 3, 1e-9);
  EXPECT_EQ(get(findings, "occupancy.isolated").observations, 2U);
  EXPECT_NE(get(findings, "occupancy.isolated").sentence.find("--cache-control"), std::string::npos);
  const Finding& percent = get(findings, "dram.isolated.percent");
  EXPECT_EQ(percent.evidence, Evidence::unavailable);
  EXPECT_NE(percent.advice.find("dram__throughput"), std::string::npos);
}

TEST(Isolated, NamesAsTheToolPrintsThem) {
  for (const auto& [here, there] :
       {std::pair{"_Z5scalePfi", "scale(float*, int)"}, std::pair{"_Z5scalePfi", "scale(float *, int)"},
        std::pair{"_Z5scaleIfLi4EEvPT_", "void scale<float, (int)4>(T1 *)"}, std::pair{"_Z5scalePfi", "scale"},
        std::pair{"_Z5scaleIfLi4EEvPT_", "scale"}}) {
    EXPECT_TRUE(get(ask(workload(here), profile(there)), "occupancy.isolated").value) << there;
  }
  // Two instantiations of one function: which is meant is not known.
  IsolatedProfile two = profile("void scale<float, (int)8>(T1 *)");
  two.kernels[0] = "void scale<float, (int)16>(T1 *)";
  EXPECT_FALSE(get(ask(workload("_Z5scaleIfLi4EEvPT_"), two), "occupancy.isolated").value);
}

TEST(Isolated, WhatDoesNotMatchIsSaid) {
  const auto unmatched = ask(workload(), profile("scatter(float*)"));
  ASSERT_EQ(unmatched.size(), 2U);
  for (const Finding& finding : unmatched) {
    EXPECT_EQ(finding.evidence, Evidence::unavailable);
    EXPECT_NE(finding.reason.find("other(int), scatter(float*)"), std::string::npos) << finding.reason;
    EXPECT_FALSE(finding.advice.empty());
  }
  IsolatedProfile other_shape = profile();
  for (IsolatedLaunch& launch : other_shape.launches) {
    launch.grid = {128, 1, 1};
  }
  EXPECT_NE(ask(workload(), other_shape)[0].reason.find("grid 128 × 1 × 1"), std::string::npos);
  IsolatedProfile other_gpu = profile();
  other_gpu.devices = {{"NVIDIA L40S", 8, 9}};
  EXPECT_NE(ask(workload(), other_gpu)[0].reason.find("compute capability 8.9"), std::string::npos);
}

TEST(Isolated, WithoutCountersHereTheDurationStillCompares) {
  PlantedDevice blind = workload();
  blind.capture.samples.clear();
  const auto findings = ask(blind, profile());
  EXPECT_DOUBLE_EQ(get(findings, "occupancy.isolated.slow_down").value.value_or(0), 2);
  EXPECT_FALSE(get(findings, "occupancy.isolated.retained").value);
  EXPECT_FALSE(get(findings, "dram.locality").value);
  EXPECT_TRUE(get(findings, "dram.isolated").value);
}

}  // namespace
}  // namespace kvet::questions
