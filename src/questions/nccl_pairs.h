// Sends and receives, matched across ranks: the n-th send from i to j on a communicator is the n-th receive of j from i.
#pragma once

#include <vector>

#include "model/finding.h"
#include "questions/nccl_analysis.h"

namespace kvet::questions {

// One operation (a send, a receive, or a group of them), with what its peers tell.
struct PairMeasured {
  uint32_t rank = 0;
  double wait_ns = 0, transfer_ns = 0;
  bool all_peers = false;  // each of its sends and receives was matched
};
struct Pairs {
  std::vector<PairMeasured> measured;
  uint64_t unmatched = 0;  // operations without any matched peer
};
[[nodiscard]] Pairs match_pairs(const Collectives& collectives, const std::vector<RankClock>& clocks);

// Arrival wait and transfer of sends and receives; nothing where there are none.
void append_point_to_point(std::vector<Finding>& findings, const NcclAnalysis& analysis);

}  // namespace kvet::questions
