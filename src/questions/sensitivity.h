// How K's duration goes with the bandwidth that its siblings use at the time, and where a gain over another arm ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "questions/dram_parts.h"

namespace kvet::questions {

// One execution: what its siblings moved per second in its time, and how long it took.
struct SensitivityPoint {
  double bytes_per_s = 0;
  double duration = 0;  // ns, or relative to the mean of its launch shape
  size_t block = 0;     // stretch of time: executions of one are taken for dependent
};

// duration = at_rest + slope × bytes_per_s, by least squares.
struct SensitivityLine {
  double at_rest = 0, slope = 0;
  std::optional<Interval> slope_interval;  // 95%, jackknife over blocks, t
  struct Line {
    double at_rest, slope;
  };
  std::vector<Line> without_block;
  double least_bytes_per_s = 0, most_bytes_per_s = 0;  // what was seen
  uint64_t executions = 0;
};
// Empty below 20 executions or 6 blocks, or where the siblings' bandwidth never changes.
std::optional<SensitivityLine> sensitivity_line(const std::vector<SensitivityPoint>& points);

// The siblings' bandwidth above which the candidate is no faster than the baseline; both lines in ns. Empty where it begins no
// faster, where it does not lose more per byte than the baseline, or where that lies beyond what both arms saw.
struct GainEnd {
  double bytes_per_s = 0;
  std::optional<Interval> interval;  // 95%; empty: not bounded by the data
};
std::optional<GainEnd> gain_ends_at(const SensitivityLine& baseline, const SensitivityLine& candidate);

// K's executions that were sampled for at least 90% of their time. `own_bytes`: what one moves itself. Durations in ns or ÷ the mean
// of the launch shape.
std::vector<SensitivityPoint> sensitivity_points(const Capture& capture, const std::vector<DramDevice>& devices,
                                                 double own_bytes, bool relative);

// dram.sensitivity.
void add_sensitivity(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                     const std::vector<DramDevice>& devices);

}  // namespace kvet::questions
