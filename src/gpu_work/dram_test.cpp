#include "gpu_work/dram.h"

#include <gtest/gtest.h>

#include "gpu_work/fake_driver.h"

namespace kvet::gpu_work {
namespace {

struct MeasuresDram : testing::Test {
  FakeGpu gpu;
  MeasuresDram() {
    fake = &gpu;
    gpu.bytes_per_ns = {{"kvet_dram_read", 4000},
                        {"kvet_dram_write", 3000},
                        {"kvet_dram_copy", 3600},
                        {"kvet_dram_two_to_one", 3800},
                        {"kvet_dram_random", 900}};
  }
  static Result<DramMeasurement> measure(const DramObserver& observer = {}) {
    const auto context = Context::open(fake_driver(), DeviceChoice::ordinal(0));
    return measure_dram(*context, observer);
  }
  static uint64_t best(const DramMeasurement& measured, DramPattern pattern) {
    return measured.rates[static_cast<size_t>(pattern)].best;
  }
};

// The planted GPU takes bytes ÷ rate; event times are floats of milliseconds, good to 1e-7.
TEST_F(MeasuresDram, GetsBackThePlantedRates) {
  const auto measured = measure();
  ASSERT_TRUE(measured) << measured.error().message();
  const double tolerance = 1e-6;
  EXPECT_NEAR(static_cast<double>(best(*measured, DramPattern::read)), 4000e9, 4000e9 * tolerance);
  EXPECT_NEAR(static_cast<double>(best(*measured, DramPattern::write)), 3000e9, 3000e9 * tolerance);
  EXPECT_NEAR(static_cast<double>(best(*measured, DramPattern::copy)), 3600e9, 3600e9 * tolerance);
  EXPECT_NEAR(static_cast<double>(best(*measured, DramPattern::two_to_one)), 3800e9, 3800e9 * tolerance);
  EXPECT_NEAR(static_cast<double>(best(*measured, DramPattern::random_sectors)), 900e9, 900e9 * tolerance);
  for (const DramRate& rate : measured->rates) {
    EXPECT_NEAR(static_cast<double>(rate.by_globaltimer) / static_cast<double>(rate.best), 1, tolerance);
    EXPECT_EQ(rate.rounds, 7U);
  }
  EXPECT_TRUE(measured->notes.empty()) << measured->notes.front();
  EXPECT_TRUE(gpu.faults.empty()) << gpu.faults.front();
  EXPECT_EQ(gpu.contexts + gpu.allocations + gpu.streams + gpu.events, 0);
}

TEST_F(MeasuresDram, TellsWhatItDoes) {
  uint32_t at_work = 0, begun = 0;
  DramObserver observer;
  observer.at_work = [&] { ++at_work; };
  observer.round_begins = [&](DramPattern, uint32_t round, uint32_t rounds) {
    ++begun;
    EXPECT_LE(round, rounds);
  };
  ASSERT_TRUE(measure(observer));
  EXPECT_EQ(at_work, static_cast<uint32_t>(gpu.launches));
  EXPECT_EQ(begun, 5 * 11U);
}

// Launches: 1 fills, 2 or 3 find out how much is long enough for reads, then 5 shapes and 6 more rounds.
TEST_F(MeasuresDram, AnUnsteadyGpuIsNamed) {
  gpu.slower.assign(100, 1.0);
  for (size_t i = 11; i < 14; ++i) {
    gpu.slower[i] = 1.25;  // of the rounds with the best shape, so that the lowest is 0.8 of the best
  }
  const auto measured = measure();
  ASSERT_TRUE(measured);
  const DramRate& read = measured->rates[0];
  EXPECT_NEAR(static_cast<double>(read.best), 4000e9, 1e7);
  EXPECT_NEAR(static_cast<double>(read.lowest), 3200e9, 1e7);
  EXPECT_NEAR(read.spread(), 0.2, 1e-3);
  ASSERT_EQ(measured->notes.size(), 1U);
  EXPECT_NE(measured->notes[0].find("reads: the rounds differ by 20.0%"), std::string::npos) << measured->notes[0];
}

TEST_F(MeasuresDram, TimersThatDisagreeAreNamed) {
  gpu.stamp_rate = 1.1;
  auto measured = measure();
  ASSERT_TRUE(measured);
  ASSERT_EQ(measured->notes.size(), 5U);
  EXPECT_NE(measured->notes[0].find("timer gives 1.100 times"), std::string::npos) << measured->notes[0];
  gpu.stamps = false;
  measured = measure();
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->rates[0].by_globaltimer, 0U);
  EXPECT_NE(measured->notes[0].find("stamps are missing"), std::string::npos) << measured->notes[0];
}

TEST_F(MeasuresDram, RefusesWhereMemoryIsShort) {
  // Three buffers of 20 × 50 MiB need half of the free memory: 6000 MiB.
  gpu.free_bytes = size_t{5900} << 20;
  const auto measured = measure();
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().kind, ErrorKind::unavailable);
  EXPECT_NE(measured.error().what.find("only 5900 MiB"), std::string::npos) << measured.error().what;
  EXPECT_NE(measured.error().what.find("1000 MiB each"), std::string::npos) << measured.error().what;
}

TEST_F(MeasuresDram, PassesErrorsOn) {
  gpu.allocate_result = KVET_CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(measure().error().kind, ErrorKind::unavailable);
  gpu.allocate_result = 0;
  gpu.launch_result = 701;
  EXPECT_NE(measure().error().what.find("planted (701)"), std::string::npos);
  gpu.launch_result = 0;
  gpu.query_result = 719;
  EXPECT_NE(measure().error().what.find("planted (719)"), std::string::npos);
  EXPECT_EQ(gpu.contexts + gpu.allocations + gpu.streams + gpu.events, 0);
}

TEST(DramBuffers, AreTwentyCachesAtLeastAndASixthOfFreeMemoryAtMost) {
  constexpr uint64_t mebibyte = 1 << 20, gibibyte = 1 << 30;
  EXPECT_EQ(dram_buffer_bytes(140 * gibibyte, 50 * mebibyte), 2 * gibibyte);
  EXPECT_EQ(dram_buffer_bytes(140 * gibibyte, 126 * mebibyte), 2 * 20 * 126 * mebibyte);
  EXPECT_EQ(dram_buffer_bytes(6 * gibibyte, 6 * mebibyte), gibibyte);
  EXPECT_EQ(dram_buffer_bytes(600 * mebibyte, 6 * mebibyte), 0U);
}

}  // namespace
}  // namespace kvet::gpu_work
