// What share_split.cpp and share_saturated.cpp hand to each other.
#pragma once

#include <vector>

#include "questions/share_cells.h"

namespace kvet::questions {

// One cell's count, split; scaled so that it adds up.
struct ShareCells::Split {
  std::vector<double> by_party;
  double copies = 0, earlier = 0, nobody = 0;
  double fitted = 0;  // before it was scaled
  double condition = 0;
  enum class How : uint8_t { alone, set, all_sets } how = How::alone;
};

// The co-run part of all stretches that are split sample by sample.
struct ShareCells::Saturated {
  std::vector<double> by_party;
  double copies = 0, nobody = 0;
  double device = 0, time_ns = 0;
  double left_out_ns = 0;
  bool progress = false;  // K's share is what its executions' progress says; else what its warps would ask for
};

}  // namespace kvet::questions
