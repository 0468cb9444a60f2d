// Follows the offset of the counters' clock through a recording: one correction per window, and the certainty that it is
// not a whole period of the workload beside the truth.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "clocks/window_fit.h"

namespace kvet::clocks {

// Corrections to the coarse offset, by window; NaN where a window has nothing to align by.
using OffsetPath = std::vector<double>;

// Where the corrections must lie, by window, and how far beside that. Empty: anywhere in the range that is searched.
struct ExpectedPath {
  OffsetPath corrections;
  double reach_ns = 0;
};

// Windows in order of time. The correction in the first of them lies within ±search_ns. Errors (unavailable) say why
// there is no answer: nothing varies, nothing fits, or two answers fit alike.
[[nodiscard]] Result<OffsetPath> find_path(std::span<const WindowFit> windows, double search_ns,
                                           const ExpectedPath& expected = {});

}  // namespace kvet::clocks
