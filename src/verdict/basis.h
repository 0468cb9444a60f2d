// What the estimates of a comparison rest on: the quads of a look, or, for want of quads, single runs.
#pragma once

#include "verdict/quads.h"

namespace kvet::verdict {

class Basis {
 public:
  // `fixed_quads`: a number of quads fixed before the run, used instead of the looks; 0: none.
  Basis(const std::vector<BlockSummary>& blocks, const Grouping& grouping, uint64_t fixed_quads);

  // The log ratio of a figure with its interval at the confidence of a look. With one run per arm the interval comes
  // from `slices` of each run where that is given, else there is none (low = −∞, high = ∞).
  [[nodiscard]] std::optional<LogInterval> log_ratio(
      const Figure& figure, const std::function<const std::vector<double>&(const BlockSummary&)>& slices = {}) const;

  // Mean of a figure over the blocks of one arm that are used, and of its differences (candidate − baseline).
  [[nodiscard]] std::optional<double> mean_of(Arm arm, const Figure& figure) const;
  [[nodiscard]] std::optional<Interval> difference_interval(const Figure& figure, double confidence) const;
  // The mean difference of the logarithms of a figure, candidate − baseline, with a 95% interval where units allow.
  [[nodiscard]] std::optional<LogInterval> log_difference(const Figure& figure) const;

  [[nodiscard]] uint64_t units() const { return quads_.size(); }
  [[nodiscard]] bool in_quads() const { return !quads_.empty(); }
  [[nodiscard]] const std::vector<size_t>& used(Arm arm) const { return used_[static_cast<size_t>(arm)]; }
  [[nodiscard]] const std::vector<Quad>& quads() const { return quads_; }
  [[nodiscard]] const char* unit_name() const;

 private:
  [[nodiscard]] std::vector<double> values(Arm arm, const Figure& figure) const;

  const std::vector<BlockSummary>& blocks_;
  std::vector<Quad> quads_;
  std::array<std::vector<size_t>, 2> used_;
};

// Figures that are compared, each larger when the arm is slower.
std::optional<double> set_time_per_step(const BlockSummary& block);
std::optional<double> solo_time_per_step(const BlockSummary& block);
std::optional<double> step_median(const BlockSummary& block);
std::optional<double> metric_as_time(const BlockSummary& block);  // a rate is inverted

}  // namespace kvet::verdict
