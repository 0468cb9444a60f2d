// Own shares against planted truth: known bytes per warp and ns for each kernel, resident warps that come and go.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "questions/share_planted.h"
#include "questions/unit_shares.h"

namespace kvet::questions {
namespace {

// A copy beside a compute kernel and a second copy with another mix.
const std::vector<PlantedSharer> three = {{.name = "k",
                                           .warps = 2000,
                                           .read = 0.4,
                                           .write = 0.2,
                                           .duration_ns = 300'000,
                                           .gap_ns = 200'000,
                                           .instructions = 0.1},
                                          {.name = "compute",
                                           .warps = 3000,
                                           .read = 0.02,
                                           .write = 0.01,
                                           .duration_ns = 500'000,
                                           .gap_ns = 300'000,
                                           .bound = 0.1,
                                           .instructions = 0.4},
                                          {.name = "copy",
                                           .warps = 1500,
                                           .read = 0.3,
                                           .write = 0.5,
                                           .duration_ns = 400'000,
                                           .gap_ns = 300'000,
                                           .instructions = 0.05}};

struct Answer {
  std::vector<Finding> findings;
  double bytes_per_s = 0, share = 0;  // the truth
  [[nodiscard]] const Finding& of(std::string_view id) const {
    static const Finding nothing;
    const Finding* finding = find(findings, id);
    return finding != nullptr ? *finding : nothing;
  }
  [[nodiscard]] double error() const { return of("dram.own").value.value_or(0) / bytes_per_s - 1; }
  [[nodiscard]] bool covered() const {
    const auto& interval = of("dram.own").interval;
    return interval && interval->low <= bytes_per_s && bytes_per_s <= interval->high;
  }
};

Answer ask(PlantedShares& planted, const KernelSet& k) {
  const Capture& capture = planted.device.capture;
  const auto timeline = timelines(capture, k);
  const DramDevice device = dram_device(capture, timeline.front());
  Answer answer;
  add_shares(answer.findings, capture, k, {{&device, &planted.residency}}, PlantedDevice::peak_bytes_per_s);
  const ShareTable table = share_table(capture, k, timeline.front(), device.samples, planted.residency);
  double own = 0, all = 0, time = 0;
  for (const ShareRow& row : table.rows) {
    const auto& truth = planted.truth[static_cast<size_t>(row.sample - capture.samples.data())];
    const double part = row.corun_ns / row.length_ns;
    own += part * truth.bytes[0];
    for (double bytes : truth.bytes) {
      all += part * bytes;
    }
    time += row.corun_ns;
  }
  answer.bytes_per_s = 1e9 * own / time;
  answer.share = 100 * own / all;
  return answer;
}

Answer ask(const PlantedWorld& world, uint64_t seed, uint64_t memory_bytes_per_s = 4'800'000'000'000) {
  PlantedShares planted{three, world, seed};
  planted.device.capture.devices[0].memory_bandwidth_bytes_per_s = memory_bytes_per_s;
  return ask(planted, planted.device.set("^k$"));
}

TEST(Share, WithinFivePercentBesideComputeAndASecondCopy) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Answer answer = ask({.noise_memory_ns = 50'000}, seed);
    EXPECT_LT(std::abs(answer.error()), 0.03) << seed;
    EXPECT_EQ(answer.of("dram.own").evidence, Evidence::attributed);
    EXPECT_NEAR(answer.of("dram.own.share").value.value_or(0), answer.share, 0.03 * answer.share);
  }
}

TEST(Share, PartsAddUpToTheDevice) {
  const Answer answer = ask({}, 7);
  double sum = *answer.of("dram.own").value;
  for (const Finding& finding : answer.findings) {
    sum += finding.id == "dram.corun.sibling" ? *finding.value : 0;
  }
  EXPECT_NEAR(sum, *answer.of("dram.own").value / *answer.of("dram.own.share").value * 100, 1e-6 * sum);
  EXPECT_LT(*answer.of("dram.corun.unexplained").value, 1);
}

// What is on the way from L2 when K begins is not K's, and what K leaves there is.
TEST(Share, WriteBackThatLags) {
  const Answer answer = ask({.write_back_ns = 20'000}, 3);
  EXPECT_LT(std::abs(answer.error()), 0.02);
  EXPECT_NE(answer.of("dram.own").sentence.find("follow the warps by about 20 us"), std::string::npos)
      << answer.of("dram.own").sentence;
}

TEST(Share, LongSamples) {
  EXPECT_LT(std::abs(ask({.noise_memory_ns = 100'000, .length_ns = 200'000'000, .sample_ns = 100'000}, 5).error()),
            0.03);
}

// A memory that gives 1000 bytes per ns of the 2100 that the two copies would take. Executions that ran alone say what one moves.
TEST(Share, SaturatedMemory) {
  std::vector<PlantedSharer> apart = three;
  for (PlantedSharer& sharer : apart) {
    sharer.gap_ns = 1'000'000;
  }
  // It slows down less than a copy would, so it gets more of a saturated memory than its warps' demand.
  apart[2].bound = 0.3;
  int covered = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    PlantedShares planted{apart, {.most_bytes_per_ns = 1000, .length_ns = 160'000'000}, seed};
    planted.device.capture.devices[0].memory_bandwidth_bytes_per_s = 1'087'000'000'000;
    const Answer answer = ask(planted, planted.device.set("^k$"));
    EXPECT_LT(std::abs(answer.error()), 0.05) << seed;
    covered += answer.covered() ? 1 : 0;
    EXPECT_NE(answer.of("dram.own").sentence.find("progress of the executions"), std::string::npos);
  }
  EXPECT_GE(covered, 3);  // of four; the chance of two misses at 95% is 1%
}

// The mutant: who ran, instead of whose warps were resident.
TEST(Share, RunFlagsAreWorse) {
  double by_warps = 0, by_flags = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    by_warps += std::pow(ask({}, seed).error(), 2);
    by_flags += std::pow(ask({.flags = true}, seed).error(), 2);
  }
  EXPECT_GT(std::sqrt(by_flags), 5 * std::sqrt(by_warps));
}

TEST(Share, IntervalsHoldTheTruthAsOftenAsTheySay) {
  int inside = 0, all = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Answer answer = ask({.noise_memory_ns = seed % 2 == 0 ? 0.0 : 50'000.0, .length_ns = 10'000'000}, 100 + seed);
    inside += answer.covered() ? 1 : 0;
    ++all;
  }
  EXPECT_GE(inside, 0.92 * all);
  EXPECT_LE(inside, 0.98 * all);
}

TEST(Share, UnknownIsNotZero) {
  PlantedShares planted{three, {.length_ns = 10'000'000}, 1};
  const KernelSet k = planted.device.set("^k$");
  for (Sample& sample : planted.device.capture.samples) {
    sample.dram_write_bytes.reset();
  }
  const Answer no_writes = ask(planted, k);
  EXPECT_EQ(no_writes.of("dram.own").evidence, Evidence::unavailable);
  EXPECT_NE(no_writes.of("dram.own").reason.find("do not hold this count"), std::string::npos);
  EXPECT_TRUE(no_writes.of("instructions.own").value);
  for (SampleResidency& sample : planted.residency.samples) {
    sample.resolved = sample.own.resolved = false;
  }
  const Answer unresolved = ask(planted, k);
  EXPECT_EQ(unresolved.of("instructions.own").evidence, Evidence::unavailable);
  EXPECT_NE(unresolved.of("instructions.own").reason.find("unresolved"), std::string::npos);
}

TEST(Share, AbsurdCountsAreLeftOut) {
  PlantedShares planted{three, {.length_ns = 20'000'000}, 2};
  const double absurd[] = {-1, 1e300, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()};
  for (size_t i = 0; i < planted.device.capture.samples.size(); i += 50) {
    planted.device.capture.samples[i].dram_read_bytes = absurd[i / 50 % 4];
    planted.residency.samples[i / 2].unexplained = absurd[i / 50 % 4];
  }
  const Answer answer = ask(planted, planted.device.set("^k$"));
  EXPECT_LT(std::abs(answer.error()), 0.05);
}

}  // namespace
}  // namespace kvet::questions
