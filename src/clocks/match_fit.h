// From single matches of samples with executions to lines: the offset of the counters' clock over time, how well the
// matches agree with it, and by how much kernels start late and end early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "clocks/robust.h"

namespace kvet::clocks {

// One place where samples and executions were matched: x in ns since some origin, and the correction to the offset that
// this place alone asks for.
enum class MatchKind : uint8_t { start, end, both };  // of kernels; both: a stretch with its starts and its ends
struct Match {
  double x = 0, correction = 0;
  MatchKind kind = MatchKind::both;
};

// Corrections over time as lines that follow each other.
struct Segment {
  double from;
  Line line;
  double residual = 0, residual_p95 = 0;  // of the matches in it
};

struct MatchFit {
  std::vector<Segment> segments;  // none: there are too few matches
  size_t matches = 0;
  double residual = 0, residual_p95 = 0;  // distances of the matches from the lines, biases removed
  double drift = 0, middle = 0;
  double error = INFINITY;  // of the whole, roughly: as of a mean of as many values
  // Kernels start a little after, and end a little before, CUPTI says, so matches of both kinds lie on either side of the
  // truth. The lines run in the middle of the two, and this is half the distance. Empty: only one kind could be used, and
  // the lines run through it.
  std::optional<double> half_bias;
  MatchKind kind = MatchKind::both;  // what the lines were laid through
};

// `interval_ns`: length of a sample; `bias_limit_ns`: a half distance beyond this is no bias but kernels that fade out.
[[nodiscard]] MatchFit fit_matches(const std::vector<Match>& matches, double bias_limit_ns);

[[nodiscard]] double value_at(const MatchFit& fit, double x);

}  // namespace kvet::clocks
