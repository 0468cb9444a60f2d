// One stretch of a recording: samples and executions of one device, and how badly they disagree when the samples are
// moved by some offset.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "clocks/load.h"

namespace kvet::clocks {

// A moment at which the device went from idle to busy or back inside one sample, and where it lies in the samples
// compared with the executions.
struct Edge {
  double time_ns = 0;   // since the window's origin
  double error_ns = 0;  // how much later than the offset in question this edge alone would put it
  bool rising = false;
};

class WindowFit {
 public:
  // `coarse_offset_ns`: CLOCK_MONOTONIC − raw, roughly; offsets below are corrections to it. Executions must be complete
  // over [from_ns, to_ns) of CLOCK_MONOTONIC; samples that could leave it when moved by up to `search_ns` are left out.
  WindowFit(std::span<const MeasuredLoad> samples, std::span<const ExpectedLoad> executions, int64_t coarse_offset_ns,
            int64_t from_ns, int64_t to_ns, int64_t search_ns);

  // There is something to align by: both sides vary.
  [[nodiscard]] bool usable() const { return use_busy_ || use_warps_; }
  [[nodiscard]] size_t samples() const { return samples_.size(); }
  [[nodiscard]] double interval_ns() const { return interval_ns_; }  // median length of a sample
  [[nodiscard]] int64_t origin_ns() const { return origin_ns_; }  // CLOCK_MONOTONIC
  [[nodiscard]] bool has_edges() const { return use_busy_; }

  // Disagreement, in samples: 0 for agreement, samples() × channels when everything is wrong. Absolute differences, so
  // that samples that nothing explains (another process, a lost record) shift no minimum.
  [[nodiscard]] double cost(double offset_ns) const;
  // The same, sample by sample.
  void costs(double offset_ns, std::vector<double>& out) const;
  // The offset with the least cost in [middle − reach, middle + reach], to a hundredth of an interval.
  [[nodiscard]] double minimum(double middle_ns, double reach_ns) const {
    return minimum_of(middle_ns, reach_ns, 0, 1);
  }
  // The same by one part of the samples alone, of `parts` of equal number: how far these lie apart says how good the
  // whole is. NaN: nothing varies in this part.
  [[nodiscard]] double part_minimum(double middle_ns, double reach_ns, size_t part, size_t parts) const;
  [[nodiscard]] double part_middle_ns(size_t part, size_t parts) const;  // since the origin
  // Where the device became busy or idle, at an offset that is right to within half an interval.
  [[nodiscard]] std::vector<Edge> edges(double offset_ns) const;

 private:
  struct Row {
    double start, end;  // CLOCK_MONOTONIC by the coarse offset, since the origin
    double busy, warps;
  };
  template <class Take>
  void for_each(double offset_ns, size_t part, size_t parts, Take&& take) const;
  [[nodiscard]] double cost_of(double offset_ns, size_t part, size_t parts) const;
  [[nodiscard]] double minimum_of(double middle_ns, double reach_ns, size_t part, size_t parts) const;
  [[nodiscard]] double squash(double warps) const { return warps / (warps + typical_warps_); }

  std::vector<Row> samples_;
  Cumulative busy_, warps_;
  int64_t origin_ns_ = 0;
  double interval_ns_ = 0;
  double gain_ = 1;  // measured busy share ÷ expected, where the device was busy throughout
  double typical_warps_ = 1;
  bool use_busy_ = false, use_warps_ = false;
};

}  // namespace kvet::clocks
