// The findings that are computed from launch parameters alone.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

void expect_modelled(const std::vector<Finding>& findings, std::string_view id, double value,
                     std::string_view beside = {}) {
  const Finding* finding = find(findings, id, beside);
  ASSERT_NE(finding, nullptr) << id;
  ASSERT_TRUE(finding->value) << id << ": " << finding->reason;
  EXPECT_NEAR(*finding->value, value, 1e-9) << id;
  EXPECT_EQ(finding->evidence, Evidence::modelled) << id;
}

void expect_says(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

// K alone, once, with the launch as `change` makes it.
template <class Change>
std::vector<Finding> alone(uint32_t threads, uint32_t registers, uint32_t shared, uint32_t grid, const Change& change) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k", threads, registers, shared, grid);
  device.run(k, 7, 100, 900);
  device.sample(0, 0, 1);
  change(device.capture, device.capture.shapes[k.value]);
  return occupancy(device.capture, device.set("^k$"));
}
void no_change(Capture&, KernelShape&) {}

// 256 threads × 64 registers: 4 blocks; 56 KiB and the driver's 1: 4 blocks too. For 5: 48 registers, 45,568 B (worked out in
// occupancy_limits_test.cpp), 40 of 64 warps.
TEST(OccupancyModel, AllLimitersAndTheNextStep) {
  const auto findings = alone(256, 64, 56 * 1024, 1320, no_change);
  expect_modelled(findings, "occupancy.theoretical", 50);
  const Finding* finding = find(findings, "occupancy.theoretical");
  expect_says(finding->sentence, "limited by registers and shared memory");
  expect_says(finding->advice,
              "at most 48 registers per thread and at most 45568 B of shared memory per block would allow one "
              "more block per SM (5): 62.5%");
  EXPECT_EQ(find(alone(256, 32, 0, 1320, no_change), "occupancy.theoretical")->advice, "") << "nothing to lift at 100%";
}

TEST(OccupancyModel, TheCarveOutThatTheDriverConfigured) {
  const auto findings =
      alone(128, 32, 48 * 1024, 1320, [](Capture&, KernelShape& shape) { shape.shared_executed_bytes = 100 * 1024; });
  expect_modelled(findings, "occupancy.theoretical", 100.0 * 8 / 64);
  expect_says(find(findings, "occupancy.theoretical")->sentence,
              "limited by the driver's carve-out, 100 KiB of 228 KiB");
  expect_says(find(findings, "occupancy.theoretical")->advice, "a carve-out of 164 KiB");
}

TEST(OccupancyModel, ABlockThatDoesNotFit) {
  const auto findings = alone(288, 255, 0, 1320, no_change);
  expect_modelled(findings, "occupancy.theoretical", 0);
  expect_says(find(findings, "occupancy.theoretical")->sentence, "a block does not fit on an SM by registers");
  EXPECT_FALSE(find(findings, "occupancy.waves")->value);
}

// 30 clusters of 4 at once (the driver's own figure on an H200): 120 blocks of 8 warps on 132 SMs; 600 blocks are 5 waves.
TEST(OccupancyModel, ClustersAsTheDriverSays) {
  const auto findings = alone(256, 168, 200'000, 600, [](Capture&, KernelShape& shape) {
    shape.cluster = {4, 1, 1};
    shape.max_active_clusters = 30;
  });
  expect_modelled(findings, "occupancy.theoretical", 100.0 * 120 * 8 / (132 * 64));
  expect_modelled(findings, "occupancy.waves", 5);
  expect_modelled(findings, "occupancy.tail", 100);
  expect_says(find(findings, "occupancy.theoretical")->sentence, "limited by clusters");
}

// Not recorded: 29 to 32 of them (worked out in clusters_test.cpp); the value is that of the most.
TEST(OccupancyModel, ClustersWithinBounds) {
  const auto findings = alone(256, 168, 200'000, 600, [](Capture&, KernelShape& shape) { shape.cluster = {4, 1, 1}; });
  expect_modelled(findings, "occupancy.theoretical", 100.0 * 128 * 8 / (132 * 64));
  expect_says(find(findings, "occupancy.theoretical")->sentence, "29 to 32 clusters of 4 at once, 11.0% to 12.1%");
}

// 66 of 132 SMs: twice the waves, and the same occupancy of those that may be used.
TEST(OccupancyModel, SmsThatTheContextMayUse) {
  auto limited = [](std::optional<uint32_t> multiprocessors, std::optional<double> percent, uint32_t context_id = 1) {
    return alone(256, 64, 0, 1320, [&](Capture& capture, KernelShape&) {
      Context context;
      context.context_id = context_id;
      context.multiprocessors = multiprocessors;
      context.mps_thread_percent = percent;
      capture.contexts.push_back(context);
    });
  };
  const auto half = limited(66, {});
  expect_modelled(half, "occupancy.theoretical", 50);
  expect_modelled(half, "occupancy.waves", 5);
  expect_says(find(half, "occupancy.waves")->sentence, "the 66 of 132 SMs that this context may use");
  expect_modelled(limited({}, 50.5), "occupancy.waves", 5);  // 66.66, rounded down
  expect_modelled(limited(66, {}, 2), "occupancy.waves", 2.5);  // another context
  for (const double absurd : {0.0, -1.0, 101.0, 1e300}) {
    expect_modelled(limited(0, absurd), "occupancy.waves", 2.5);
  }
  expect_modelled(limited(1000, {}), "occupancy.waves", 2.5);
}

// K: 256 threads × 64 registers, 48 KiB. The sibling, flash: 128 threads × 128 registers, 64 KiB, on every SM 3 of 65 KiB at the
// most by shared memory, 2 in its carve-out of 132 KiB.
struct Pair {
  PlantedDevice device;
  std::vector<Finding> findings;
  explicit Pair(uint32_t own_carve_out_kib) {
    const ShapeId k = device.kernel("k", 256, 64, 48 * 1024, 1320),
                  flash = device.kernel("flash", 128, 128, 64 * 1024, 1320);
    device.run(flash, 8, 0, 1000);
    device.run(k, 7, 100, 900);
    device.sample(0, 0, 1);
    device.capture.shapes[k.value].shared_executed_bytes = own_carve_out_kib * 1024;
    device.capture.shapes[flash.value].shared_executed_bytes = 132 * 1024;
    findings = occupancy(device.capture, device.set("^k$"));
  }
};

TEST(OccupancyModel, FitsBothWays) {
  const Pair pair(228);
  // K beside 2 of flash, in K's 228 KiB: (228 − 130) ÷ 49 = 2; flash's 8 warps of 4096 leave half of the registers: 2.
  expect_modelled(pair.findings, "occupancy.fits_beside", 2, "flash");
  const Finding* fits = find(pair.findings, "occupancy.fits_beside", "flash");
  expect_says(fits->sentence, "Beside 2 blocks of it on an SM, 2 blocks of this kernel still fit (alone: 4)");
  expect_says(fits->sentence, "limited by registers and shared memory");
  expect_says(fits->sentence, "has the carve-out recorded for it takes 0, until it has drained");
  // flash beside 4 of K: they hold all registers.
  expect_modelled(pair.findings, "occupancy.sibling_fits", 0, "flash");
  expect_says(find(pair.findings, "occupancy.sibling_fits", "flash")->sentence,
              "Beside 4 blocks of this kernel on an SM, 0 blocks of it still fit (alone: 2)");
  // Neither has asked for more than 132 KiB.
  const Pair smaller(100);
  expect_modelled(smaller.findings, "occupancy.fits_beside", 0, "flash");
  expect_says(find(smaller.findings, "occupancy.fits_beside", "flash")->sentence, "limited by the driver's carve-out");
}

TEST(OccupancyModel, CoresidentLimit) {
  const Pair pair(228);
  expect_modelled(pair.findings, "occupancy.coresident_limit.shared", 97 * 1024, "flash");
  expect_modelled(pair.findings, "occupancy.coresident_limit.registers", 128, "flash");
  expect_modelled(pair.findings, "occupancy.coresident_limit.threads", 512, "flash");
  const Finding* shared = find(pair.findings, "occupancy.coresident_limit.shared", "flash");
  EXPECT_EQ(shared->unit, "bytes");
  expect_says(shared->sentence,
              "At most 97 KiB of shared memory per block to co-reside with 2 blocks of it (now 48 KiB: holds)");
  expect_says(shared->sentence, "Above 1 KiB the SM needs a carve-out of up to 228 KiB");
  expect_says(find(pair.findings, "occupancy.coresident_limit.registers", "flash")->sentence, "(now 64: holds)");
}

// findings_document_test.cpp sees no sibling at the start of an execution; this one does.
TEST(OccupancyModel, EveryIdIsDocumented) {
  std::ifstream file{KVET_SOURCE_DIR "/docs/findings.md"};
  std::stringstream document;
  document << file.rdbuf();
  size_t beside = 0;
  for (const Finding& finding : Pair(228).findings) {
    const bool limit = finding.id.starts_with("occupancy.coresident_limit.");
    const std::string row = limit ? "`" + finding.id.substr(finding.id.rfind('.')) + "`" : "`" + finding.id + "`";
    const bool shared = finding.id.ends_with("limit.shared");  // the first of its row, with the whole id
    EXPECT_NE(document.str().find(shared ? "`" + finding.id + "`" : row), std::string::npos) << finding.id;
    beside += finding.beside == "flash" ? 1 : 0;
  }
  EXPECT_GE(beside, 5u);
}

}  // namespace
}  // namespace kvet::questions
