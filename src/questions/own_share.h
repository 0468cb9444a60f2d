// K's own warps in co-run time, overall and per set of siblings, from the residency of every sample.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "questions/residency.h"
#include "questions/timeline.h"

namespace kvet::questions {

// Shares of the warp slots, elapsed. `set` is the siblings' names, sorted; empty in the overall figure.
struct OwnShare {
  std::vector<StringId> siblings;
  double time_ns = 0;      // co-run time that samples cover
  double value = 0;        // best estimate
  double low = 0, high = 0;  // what the data allow
  std::optional<Interval> interval;  // of the estimate, everything below combined; empty with fewer than two batches
  uint64_t batches = 0;
  double statistical = 0;  // half-width of the workload's own variation
  double open = 0;         // standard error: what the data leave open
  double mixing = 0;       // standard error: how samples that span several sets are shared
  double reading = 0, clock = 0;  // standard errors: a reading's bias, and the clocks' residual at starts and ends
  double resolved_ns = 0;  // of time_ns
  double within_ns = 0;    // of time_ns, in samples in which K ran beside this set alone
  size_t least_rank = std::numeric_limits<size_t>::max(), shapes = 0;  // of the sets behind it, and that one's size
  double worst_condition = 0;  // of those of full rank
  [[nodiscard]] bool too_coarse() const;  // samples are longer than it takes the residency to change
  [[nodiscard]] bool resolved() const;
};

struct OwnShares {
  OwnShare overall;
  std::vector<OwnShare> sets;  // those with most time, at most 8
};

struct OwnSource {
  const DeviceTimeline* timeline = nullptr;
  const DeviceSamples* samples = nullptr;
  const DeviceResidency* residency = nullptr;
};
OwnShares own_shares(const Capture& capture, const KernelSet& kernels, const std::vector<OwnSource>& devices);

}  // namespace kvet::questions
