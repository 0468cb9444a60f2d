// How many clusters run at once where the driver's own figure (maxActiveClusters) is not recorded: bounds, since it depends on
// how many SMs each GPC of this very chip has, which nothing tells.
#pragma once

#include <cstdint>

#include "questions/sm_limits.h"

namespace kvet::questions {

struct ClusterBounds {
  uint64_t least = 0, most = 0;
};

// All blocks of a cluster run on one GPC at the same time (CUDA Programming Guide, "Thread Block Clusters"). `least` takes each
// block of a cluster to have an SM of its own, and the worst split of the SMs over GPCs that the full chip allows; where the
// full chip is not known, it is 1. `most` lets them share SMs, at the best split. Both 0 where not even one fits, or an argument
// is 0.
ClusterBounds cluster_bounds(const SmLimits& limits, uint32_t sms, uint64_t blocks_per_sm, uint64_t cluster_size);

}  // namespace kvet::questions
