// K's own occupancy beside siblings, against a simulated block scheduler whose truth is known: error, and the intervals' coverage.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "questions/planted_scheduler.h"
#include "questions/regression.h"

namespace kvet::questions {
namespace {

const std::vector<PlantedKernel> three{
    {"a", 8, 32, 0, 200, 30'000, 0.3}, {"b", 8, 128, 0, 60, 80'000, 0.3}, {"c", 4, 64, 64 * 1024, 50, 50'000, 0.2}};
const std::vector<PlantedStream> three_streams{{{0}, 20'000}, {{1}, 20'000}, {{2}, 20'000}};

uint32_t siblings_of(const Finding& finding, const std::vector<PlantedKernel>& kernels) {
  uint32_t bits = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    bits |= finding.beside.find(kernels[k].name) != std::string::npos ? 1u << k : 0;
  }
  return bits;
}

// Percent, by what least squares of the device's warps on run flags says of kernel k.
double by_run_flags(const PlantedScheduler& planted, size_t kernels, size_t k) {
  NonNegativeLeastSquares squares{kernels};
  for (const Sample& sample : planted.device.capture.samples) {
    std::vector<std::pair<size_t, double>> row;
    for (const Execution& execution : planted.device.capture.executions) {
      const auto part = static_cast<double>(std::min(execution.end_ns, sample.end_ns) -
                                            std::max(execution.start_ns, sample.start_ns));
      if (part > 0) {
        row.emplace_back(execution.shape.value, part / static_cast<double>(sample.end_ns - sample.start_ns));
      }
    }
    squares.add(row, *sample.warp_cycles / *sample.cycles_elapsed / planted.slots() * 100);
  }
  const auto solution = squares.solve();
  return solution ? solution->b[k] : std::nan("");
}

// Within 2 points in every set with enough time; on run flags it is out by more.
TEST(OccupancyOwn, ThreeKernelsOfFullRank) {
  PlantedScheduler planted{
      three, three_streams, {.length_ns = 40'000'000, .clock_error_ns = 900, .edge_jitter_ns = 300, .seed = 21}};
  planted.device.align(1'000);
  double worst = 0, worst_by_flags = 0;
  for (size_t k = 0; k < three.size(); ++k) {
    size_t sets = 0;
    for (const Finding& finding : occupancy(planted.device.capture, planted.device.set("^" + three[k].name + "$"))) {
      if (finding.id != "occupancy.corun.own") {
        continue;
      }
      const uint32_t siblings = siblings_of(finding, three);
      const uint32_t running = siblings == 0 ? 0 : siblings | 1u << k;
      if (running != 0 && planted.time(running) < 2e6) {
        continue;
      }
      ++sets;
      ASSERT_TRUE(finding.value) << finding.reason;
      const double truth = 100 * planted.share(1u << k, running);
      EXPECT_NEAR(*finding.value, truth, 2) << three[k].name << " beside " << finding.beside;
      worst = std::max(worst, std::abs(*finding.value - truth));
      worst_by_flags = std::max(worst_by_flags, std::abs(by_run_flags(planted, three.size(), k) - truth));
    }
    EXPECT_GE(sets, 3u);
  }
  EXPECT_GT(worst_by_flags, 5);
  EXPECT_GT(worst_by_flags, 3 * worst);
}

// The 95% interval is about the workload's mean, of which each simulated capture is one realisation: over 150 captures × three
// kernels it lies inside 92 to 98% of the intervals. The mean is that of all captures together. Clock error and jitter are of
// the size that `residual` says.
TEST(OccupancyOwn, IntervalsCoverTheMean) {
  constexpr int captures = 150;
  struct Round {
    double truth_sum = 0, time = 0;
    std::vector<Interval> intervals;
  };
  std::map<size_t, Round> rounds;
  std::mt19937_64 random{22};
  for (int i = 0; i < captures; ++i) {
    PlantedScheduler planted{three,
                             three_streams,
                             {.length_ns = 12'000'000,
                              .clock_error_ns = 1'482 * std::normal_distribution<double>{}(random),
                              .edge_jitter_ns = 300,
                              .seed = 1'000 + static_cast<uint64_t>(i)}};
    planted.device.align(1'000);
    for (size_t k = 0; k < three.size(); ++k) {
      const auto findings = occupancy(planted.device.capture, planted.device.set("^" + three[k].name + "$"));
      for (const Finding& finding : findings) {
        if (finding.id == "occupancy.corun.own" && finding.beside.empty()) {
          ASSERT_TRUE(finding.value && finding.interval) << finding.reason;
          rounds[k].intervals.push_back(*finding.interval);
        }
      }
      double time = 0;
      for (uint32_t running = 1; running < 8; ++running) {
        time += (running >> k & 1) != 0 && running != 1u << k ? planted.time(running) : 0;
      }
      rounds[k].truth_sum += 100 * planted.share(1u << k) * time;
      rounds[k].time += time;
    }
  }
  size_t inside = 0, all = 0;
  for (const auto& [k, round] : rounds) {
    const double mean = round.truth_sum / round.time;
    for (const Interval& interval : round.intervals) {
      inside += interval.low <= mean && mean <= interval.high ? 1 : 0;
      ++all;
    }
  }
  EXPECT_EQ(all, 450u);
  const double coverage = static_cast<double>(inside) / static_cast<double>(all);
  EXPECT_GE(coverage, 0.92);
  EXPECT_LE(coverage, 0.98);
}

}  // namespace
}  // namespace kvet::questions
