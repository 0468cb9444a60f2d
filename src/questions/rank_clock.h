// Aligns the ranks' clocks by the ends of collectives. No rank of an all-reduce can end before the last one has come, and all
// end within one step of the last transfer: so the ends are one moment, seen by each rank's clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "questions/nccl_parts.h"

namespace kvet::questions {

// From observations (time, how far this rank's end lies behind the middle of the ranks' ends), in order of time. Robust:
// medians only. A drift is taken where there are observations enough to tell it from noise.
RankClock fit_rank_clock(const std::vector<std::pair<int64_t, double>>& behind);

// Shifts every part by its rank's clock, and stores what is left as the residual.
void align_rank_clocks(MatchResult& matches, size_t ranks);

}  // namespace kvet::questions
