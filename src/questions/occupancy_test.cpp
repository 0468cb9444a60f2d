#include <gtest/gtest.h>

#include <random>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

using Load = PlantedDevice::Load;
constexpr double slots = PlantedDevice::slots;

#define EXPECT_UNAVAILABLE(finding, part)                                            \
  do {                                                                               \
    ASSERT_NE(finding, nullptr);                                                     \
    EXPECT_EQ((finding)->evidence, Evidence::unavailable);                           \
    EXPECT_FALSE((finding)->value);                                                  \
    EXPECT_NE((finding)->reason.find(part), std::string::npos) << (finding)->reason; \
    EXPECT_FALSE((finding)->advice.empty());                                         \
  } while (false)

void expect_value(const std::vector<Finding>& findings, std::string_view id, double value, double tolerance,
                  Evidence evidence) {
  const Finding* finding = find(findings, id);
  ASSERT_NE(finding, nullptr) << id;
  ASSERT_TRUE(finding->value) << id << ": " << finding->reason;
  EXPECT_NEAR(*finding->value, value, tolerance) << id;
  EXPECT_EQ(finding->evidence, evidence) << id << ": " << name(finding->evidence);
}

// 100 us long, 50% of the slots on half of the SMs, idle around it: samples of 10 us lie anywhere over it.
TEST(Occupancy, SoloElapsedAndActive) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k");
  for (int i = 0; i < 12; ++i) {
    device.run(k, 7, 1'003'000 + 500'700 * i, 1'103'000 + 500'700 * i, Load{.warps = 0.5 * slots, .active_sms = 66});
  }
  device.sample(0, 7'500'000, 10'000);
  const auto findings = occupancy(device.capture, device.set("k"));
  expect_value(findings, "occupancy.solo", 50, 1e-6, Evidence::measured);
  expect_value(findings, "occupancy.solo.active", 100, 1e-6, Evidence::measured);
  expect_value(findings, "occupancy.time.solo", 12 * 100'000, 0, Evidence::measured);
  expect_value(findings, "occupancy.time.corun", 0, 0, Evidence::measured);
  expect_value(findings, "occupancy.unexplained_warps", 0, 0, Evidence::measured);
  EXPECT_UNAVAILABLE(find(findings, "occupancy.corun.device"), "no sibling");
  const Finding* solo = find(findings, "occupancy.solo");
  EXPECT_EQ(solo->observations, 12u);
  ASSERT_TRUE(solo->interval);
  EXPECT_LE(solo->interval->low, 50);
  EXPECT_GE(solo->interval->high, 50 - 1e-9);
  EXPECT_NE(solo->sentence.find("elapsed"), std::string::npos);
}

// 4 us long under samples of 10 us: each sample holds much idle time, yet what it counts is K's.
TEST(Occupancy, ShortKernelsArePooled) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k");
  std::mt19937 random{1};
  int64_t at = 50'000;
  for (int i = 0; i < 200; ++i) {
    device.run(k, 7, at, at + 4'000, Load{.warps = 0.25 * slots});
    at += 40'000 + static_cast<int64_t>(random() % 20'000);
  }
  device.sample(0, at + 50'000, 10'000);
  const auto findings = occupancy(device.capture, device.set("k"));
  expect_value(findings, "occupancy.solo", 25, 1e-6, Evidence::measured);
  EXPECT_NE(find(findings, "occupancy.solo")->sentence.find("shorter than three sampling intervals"),
            std::string::npos);

  PlantedDevice few;
  few.run(few.kernel("k"), 7, 50'000, 54'000, Load{.warps = 0.25 * slots});
  few.sample(0, 100'000, 10'000);
  EXPECT_UNAVAILABLE(find(occupancy(few.capture, few.set("k")), "occupancy.solo"), "too few samples");
}

// Neighbours without a gap: only samples inside K count; K's warps are half of what theirs are.
TEST(Occupancy, LongKernelBetweenNeighbours) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other");
  int64_t at = 0;
  for (int i = 0; i < 20; ++i) {
    device.run(other, 7, at, at + 33'000, Load{.warps = 0.8 * slots});
    device.run(k, 7, at + 33'000, at + 121'000, Load{.warps = 0.4 * slots});
    at += 121'000;
  }
  device.align(200);
  device.sample(0, at, 10'000);
  expect_value(occupancy(device.capture, device.set("^k")), "occupancy.solo", 40, 1e-6, Evidence::measured);
}

// Short kernels one after the other in every sample: the samples are split by time, and the figure says "attributed".
TEST(Occupancy, ShortKernelBetweenNeighboursIsSplit) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other"), third = device.kernel("third");
  std::mt19937 random{2};
  int64_t at = 0;
  auto draw = [&](int64_t least, int64_t more) { return least + static_cast<int64_t>(random()) % more; };
  for (int i = 0; i < 2000; ++i) {
    for (auto [shape, share, length] :
         {std::tuple{k, 0.6, draw(3000, 2000)}, {other, 0.2, draw(4000, 4000)}, {third, 0.9, draw(1000, 1500)}}) {
      device.run(shape, 7, at, at + length, Load{.warps = share * slots});
      at += length;
    }
  }
  device.sample(0, at, 10'000);
  const auto findings = occupancy(device.capture, device.set("^k"));
  expect_value(findings, "occupancy.solo", 60, 0.01, Evidence::attributed);
  EXPECT_NE(find(findings, "occupancy.solo")->sentence.find("split by time"), std::string::npos);
  EXPECT_UNAVAILABLE(find(findings, "occupancy.solo.active"), "no sample reads this kernel by itself");
}

TEST(Occupancy, BesideASibling) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), sibling = device.kernel("sibling");
  for (int64_t at = 0; at < 5'000'000; at += 500'000) {
    device.run(k, 7, at, at + 200'000, Load{.warps = 0.3 * slots});
    device.run(sibling, 8, at + 100'000, at + 300'000, Load{.warps = 0.45 * slots});
  }
  device.sample(0, 5'000'000, 10'000);
  const auto findings = occupancy(device.capture, device.set("^k"));
  expect_value(findings, "occupancy.corun.device", 75, 1e-6, Evidence::measured);
  expect_value(findings, "occupancy.time.solo", 10 * 100'000, 0, Evidence::measured);
  expect_value(findings, "occupancy.time.corun", 10 * 100'000, 0, Evidence::measured);
  // No execution is alone to its end; what it has alone is the head.
  EXPECT_UNAVAILABLE(find(findings, "occupancy.solo"), "no execution was alone");
  expect_value(findings, "occupancy.solo.parts", 30, 1e-6, Evidence::measured);
}

// A co-run time shorter than a sample: samples mostly inside count by their overlap. Here all neighbours read the same, so
// the answer is exact.
TEST(Occupancy, ShortCoRunIsAttributed) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), sibling = device.kernel("sibling");
  device.run(k, 7, 0, 1'000'000, Load{.warps = 0.5 * slots});
  for (int64_t at = 0; at < 1'000'000; at += 20'000) {
    device.run(sibling, 8, at + 1'000, at + 9'000, Load{});
  }
  device.sample(0, 1'000'000, 10'000);
  expect_value(occupancy(device.capture, device.set("^k")), "occupancy.corun.device", 50, 1e-6, Evidence::attributed);
}

TEST(Occupancy, UnalignedSamplesGiveNoFigure) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k");
  device.run(k, 7, 100'000, 300'000, Load{.warps = 0.5 * slots});
  device.sample(0, 500'000, 10'000);
  device.align(-1);
  auto findings = occupancy(device.capture, device.set("k"));
  EXPECT_UNAVAILABLE(find(findings, "occupancy.solo"), "could not be verified");
  EXPECT_UNAVAILABLE(find(findings, "occupancy.unexplained_warps"), "could not be verified");
  device.capture.clock_mappings.clear();
  findings = occupancy(device.capture, device.set("k"));
  EXPECT_UNAVAILABLE(find(findings, "occupancy.solo"), "not aligned");
  device.capture.samples.clear();
  device.capture.meta["counters.status"] = "the driver refuses: ERR_NVGPUCTRPERM";
  findings = occupancy(device.capture, device.set("k"));
  EXPECT_UNAVAILABLE(find(findings, "occupancy.solo"), "ERR_NVGPUCTRPERM");
  expect_value(findings, "occupancy.time.solo", 200'000, 0, Evidence::measured);
}

// The recorder's rough mapping comes first and nobody verified it; the aligned one holds from 100 us on. K runs before, where
// samples say 90%, and after, where they say 50%: only the latter counts.
TEST(Occupancy, SamplesUnderARoughMappingAreLeftOut) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k");
  device.run(k, 7, 0, 100'000, Load{.warps = 0.9 * slots});
  device.run(k, 7, 200'000, 300'000, Load{.warps = 0.5 * slots});
  device.sample(0, 500'000, 10'000);
  ClockMapping rough, aligned;
  rough.source = aligned.source = ClockSource::counters;
  rough.device = aligned.device = DeviceId{0};
  aligned.from_ns = 100'000;
  aligned.residual_ns = 0;
  device.capture.clock_mappings = {aligned, rough};
  expect_value(occupancy(device.capture, device.set("k")), "occupancy.solo", 50, 1e-6, Evidence::measured);
  device.capture.clock_mappings = {rough};
  device.capture.meta["counters.alignment"] = "not aligned: nothing varies";
  EXPECT_UNAVAILABLE(find(occupancy(device.capture, device.set("k")), "occupancy.solo"), "nothing varies");
}

// A misalignment within the guard leaves no trace where K is long; the planted shift is 2 us, the residual says 1 us, guard 3.
TEST(Occupancy, GuardAbsorbsTheResidual) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other");
  for (int64_t at = 0; at < 10'000'000; at += 200'000) {
    device.run(other, 7, at, at + 100'000, Load{.warps = 1.0 * slots});
    device.run(k, 7, at + 100'000, at + 200'000, Load{.warps = 0.5 * slots});
  }
  device.run(other, 7, 10'000'000, 10'100'000, Load{.warps = 1.0 * slots});
  device.align(1'000);
  device.sample(3'000, 10'000'000, 5'000);
  for (Sample& sample : device.capture.samples) {
    sample.start_ns += 2'000;
    sample.end_ns += 2'000;
  }
  expect_value(occupancy(device.capture, device.set("^k")), "occupancy.solo", 50, 1e-6, Evidence::measured);
}

// 5% of the time somebody runs whom no record explains, and every figure says so.
TEST(Occupancy, UnexplainedWarps) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k");
  for (int64_t at = 0; at < 10'000'000; at += 1'000'000) {
    device.run(k, 7, at + 100'000, at + 300'000, Load{.warps = 0.5 * slots});
    device.ghost(at + 600'000, at + 650'000, Load{.warps = 100});
  }
  device.sample(0, 10'000'000, 10'000);
  const auto findings = occupancy(device.capture, device.set("k"));
  expect_value(findings, "occupancy.unexplained_warps", 5, 1e-9, Evidence::measured);
  expect_value(findings, "occupancy.solo", 50, 1e-6, Evidence::measured);
  EXPECT_NE(find(findings, "occupancy.solo")->sentence.find("unrecorded work"), std::string::npos);
}

// Durations planted per shape: 100 and 400 alone, 150 and 600 beside: 1.5 times, whatever the mix. Executions that a sibling
// joins later started alone.
TEST(Occupancy, SlowDownBesideASibling) {
  PlantedDevice device;
  const ShapeId small = device.kernel("k", 128), large = device.kernel("k", 1024), sibling = device.kernel("sibling"),
                late = device.kernel("late");
  int64_t at = 0;
  auto alone = [&](ShapeId shape, int64_t length) {
    device.run(shape, 7, at, at + length);
    at += 10'000;
  };
  auto beside = [&](ShapeId shape, int64_t length) {
    device.run(sibling, 8, at - 10, at + length / 2);
    device.run(shape, 7, at, at + length);
    at += 10'000;
  };
  for (int i = 0; i < 40; ++i) {
    const int64_t jitter = i % 2 == 0 ? 2 : -2;
    alone(small, 100 + jitter);
    alone(large, 400 + jitter);
    beside(large, 600 + 3 * jitter);
  }
  for (int i = 0; i < 10; ++i) {
    beside(small, 150);
    device.run(small, 7, at, at + 100);
    device.run(late, 8, at + 50, at + 5'000);
    at += 10'000;
  }
  device.sample(0, 0, 1);
  const auto findings = occupancy(device.capture, device.set("^k$"));
  const Finding* slow = find(findings, "occupancy.slow_down", "sibling");
  ASSERT_NE(slow, nullptr);
  ASSERT_TRUE(slow->value);
  EXPECT_NEAR(*slow->value, 1.5, 1e-9);
  EXPECT_EQ(slow->observations, 50u);
  ASSERT_TRUE(slow->interval);
  EXPECT_LT(slow->interval->low, 1.5);
  EXPECT_GT(slow->interval->high, 1.5);
  EXPECT_LT(slow->interval->high - slow->interval->low, 0.03);
  EXPECT_EQ(find(findings, "occupancy.slow_down", "late"), nullptr);
  // Half of each execution that began beside the sibling.
  EXPECT_NE(slow->sentence.find("50% of their time"), std::string::npos) << slow->sentence;
}

// Durations that have nothing to do with the sibling: whoever looked at whole executions would find the long ones, which meet
// more siblings, slower.
TEST(Occupancy, SlowDownIsNotFooledByLongExecutions) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), sibling = device.kernel("sibling");
  std::mt19937 random{8};
  int64_t at = 0;
  for (int i = 0; i < 20'000; ++i) {
    const int64_t length = random() % 2 == 0 ? 1'000 : 9'000;
    device.run(k, 7, at, at + length);
    at += length + 100;
  }
  for (int64_t other = 0; other < at;) {
    const int64_t length = 3'000 + static_cast<int64_t>(random() % 1'000);
    device.run(sibling, 8, other, other + length);
    other += length + static_cast<int64_t>(random() % 8'000);
  }
  device.sample(0, 0, 1);
  const auto findings = occupancy(device.capture, device.set("^k$"));
  const Finding* slow = find(findings, "occupancy.slow_down", "sibling");
  ASSERT_NE(slow, nullptr);
  ASSERT_TRUE(slow->value && slow->interval);
  EXPECT_LT(slow->interval->low, 1);
  EXPECT_GT(slow->interval->high, 1);
  EXPECT_LT(slow->interval->high - slow->interval->low, 0.1);
}

TEST(Occupancy, SlowDownNeedsTheSameShapeAlone) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k", 128), k_other_shape = device.kernel("k", 256),
                sibling = device.kernel("sibling");
  device.run(sibling, 8, 0, 10'000);
  device.run(k, 7, 100, 200);
  device.run(k_other_shape, 7, 20'000, 20'100);
  device.run(k_other_shape, 7, 30'000, 30'100);
  device.sample(0, 0, 1);
  const auto findings = occupancy(device.capture, device.set("^k$"));
  EXPECT_UNAVAILABLE(find(findings, "occupancy.slow_down", "sibling"), "same launch shape");
}

TEST(Occupancy, Modelled) {
  PlantedDevice device;
  // 64 registers: 32 warps, 50%; 4 blocks of 256 threads on each of 132 SMs: 1320 blocks are 2.5 waves.
  const ShapeId k = device.kernel("k", 256, 64, 0, 1320), sibling = device.kernel("sibling", 512, 64, 0, 132);
  device.run(sibling, 8, 0, 1000);
  device.run(k, 7, 100, 900);
  device.sample(0, 0, 1);
  const auto findings = occupancy(device.capture, device.set("^k$"));
  expect_value(findings, "occupancy.theoretical", 50, 1e-9, Evidence::modelled);
  EXPECT_NE(find(findings, "occupancy.theoretical")->sentence.find("limited by registers"), std::string::npos);
  expect_value(findings, "occupancy.waves", 2.5, 1e-9, Evidence::modelled);
  expect_value(findings, "occupancy.tail", 50, 1e-9, Evidence::modelled);
  // One block of 16 warps × 2048 registers leaves half of them: 2 of K's 8-warp blocks.
  const Finding* fits = find(findings, "occupancy.fits_beside", "sibling");
  ASSERT_NE(fits, nullptr);
  EXPECT_EQ(fits->value, 2);
}

TEST(Occupancy, UnknownDevice) {
  PlantedDevice device;
  device.capture.devices[0].compute_major = 99;
  device.run(device.kernel("k"), 7, 0, 100);
  EXPECT_UNAVAILABLE(find(occupancy(device.capture, device.set("k")), "occupancy.theoretical"),
                     "compute capability 99.0");
  device.capture.devices[0].compute_major = 0;  // an imported file that does not say it, or another vendor's device
  EXPECT_UNAVAILABLE(find(occupancy(device.capture, device.set("k")), "occupancy.theoretical"),
                     "compute capability is not in this capture");
}

// Blocks of K: 8 warps × 1024 registers; of the sibling: 8 warps × 4096. Planted: 3 blocks of K and 1 of the sibling on each SM,
// 37.5% and 12.5% of the slots; alone K has 6 blocks, 75%: it keeps half.
TEST(Occupancy, OwnWarpsByFingerprint) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k", 256, 32), sibling = device.kernel("sibling", 256, 128);
  auto load = [](double blocks_of_k, double blocks_of_sibling) {
    const double blocks = blocks_of_k + blocks_of_sibling;
    return Load{.warps = 132 * 8 * blocks,
                .registers = 132 * 8 * (1024 * blocks_of_k + 4096 * blocks_of_sibling),
                .shared_bytes = 132 * 1024 * blocks};
  };
  for (int64_t at = 0; at < 5'000'000; at += 1'000'000) {
    device.run(k, 7, at, at + 200'000, load(6, 0));
    device.run(k, 7, at + 500'000, at + 700'000, load(3, 0));
    device.run(sibling, 8, at + 500'000, at + 700'000, load(0, 1));
  }
  device.sample(0, 5'000'000, 10'000);
  const auto findings = occupancy(device.capture, device.set("^k"));
  expect_value(findings, "occupancy.solo", 75, 1e-6, Evidence::measured);
  expect_value(findings, "occupancy.corun.device", 50, 1e-6, Evidence::measured);
  // How much of the small blocks' shared memory is read is open; registers and warps alone are exact.
  expect_value(findings, "occupancy.corun.own", 37.5, 0.01, Evidence::attributed);
  expect_value(findings, "occupancy.retained", 0.5, 0.0005, Evidence::attributed);
  const Finding* own = find(findings, "occupancy.corun.own");
  ASSERT_TRUE(own->interval);
  EXPECT_LT(own->interval->low, 37.5);
  EXPECT_GT(own->interval->high, 37.5);
  EXPECT_NE(own->sentence.find("condition number"), std::string::npos);
}

// The same registers per thread: nothing tells the two apart, and the range is what the limits of residency leave. The
// sibling's grid of 132 blocks holds at most 1 block per SM, 12.5%: of 50%, K has 37.5% to 50%, and readings may be 1% off.
TEST(Occupancy, OwnWarpsUnresolved) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k", 256, 32), sibling = device.kernel("sibling", 256, 32, 0, 132);
  device.run(k, 7, 0, 500'000, Load{.warps = 132 * 24, .registers = 132 * 24 * 1024});
  device.run(sibling, 8, 0, 500'000, Load{.warps = 132 * 8, .registers = 132 * 8 * 1024});
  device.sample(0, 500'000, 10'000);
  const auto findings = occupancy(device.capture, device.set("^k$"));
  for (const char* beside : {"", "sibling"}) {
    const Finding* own = nullptr;
    for (const Finding& finding : findings) {
      own = finding.id == "occupancy.corun.own" && finding.beside == beside ? &finding : own;
    }
    EXPECT_UNAVAILABLE(own, "unresolved");
    EXPECT_NE(own->reason.find("rank 1 for 2"), std::string::npos) << own->reason;
    ASSERT_TRUE(own->interval);
    EXPECT_NEAR(own->interval->low, 37.5, 0.6);
    EXPECT_LE(own->interval->low, 37.5);
    EXPECT_NEAR(own->interval->high, 50, 0.6);
    EXPECT_GE(own->interval->high, 50);
  }
  EXPECT_UNAVAILABLE(find(findings, "occupancy.retained"), "unresolved");
}

TEST(Occupancy, NeverEmpty) {
  PlantedDevice device;
  device.kernel("k");
  const auto findings = occupancy(device.capture, device.set("k"));
  EXPECT_UNAVAILABLE(find(findings, "occupancy.solo"), "no executions");
  EXPECT_UNAVAILABLE(find(findings, "occupancy.retained"), "no executions");
}

}  // namespace
}  // namespace kvet::questions
