// Whose counts are they? Splits a device-wide count (DRAM bytes, L2 sectors, instructions, tensor-pipe cycles) of K's co-run
// time between everybody who was there, by non-negative regression on resident warps over time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "questions/share_rows.h"
#include "questions/share_system.h"

namespace kvet::questions {

// What one execution of a launch shape counts when it runs alone.
struct SoloCost {
  double per_execution = 0, standard_error = 0;
};

struct ShareInput {
  std::function<std::optional<double>(const Sample&)> read;  // empty: the sample does not hold it, or not plausibly
  // Whether the memory was saturated in the sample; empty: not known, taken for no.
  std::function<std::optional<bool>(const Sample&)> saturated;
  // Saturation holds the device's total of this count, whoever is resident: then no regression on saturated samples can tell
  // shares apart.
  bool pinned = false;
  bool copies_read = false, copies_write = false;  // whether copies cause it, and by which of their bytes
  bool lagging = false;  // counts may come later than the warps that caused them (write-back from L2)
  std::function<std::optional<SoloCost>(ShapeId)> solo;  // asked for only where needed; may be empty
};

struct SharePart {
  size_t party = 0;  // index into ShareTable::parties
  double count = 0;
};

struct ShareEstimate {
  double own = 0;  // K's counts in its sampled co-run time
  double device = 0;  // everybody's: own, the other parts, copies, earlier and nobody add up to it
  double time_ns = 0;
  std::vector<SharePart> parts;  // K's among them, nothing left out
  double copies = 0, earlier = 0, nobody = 0;
  double residual = 0;  // what the fit left over or had too much before it was scaled to the device's count, ÷ device

  // own, with one stretch of time left out of the regression, by block; and what the solo costs' errors do to it.
  std::vector<double> without_block;
  double solo_error = 0;
  double model_error = 0;  // how far two ways to split saturated samples lie apart, where neither is sure
  uint64_t samples = 0;
  double lag_ns = 0;

  // How much of the device's count was split in which way.
  double by_set = 0, by_all_sets = 0, by_progress = 0, by_demand = 0;
  double condition = 0;  // the worst of the systems used
};

struct ShareResult {
  std::optional<ShareEstimate> estimate;
  std::string reason, advice;  // where there is none
};

// Per sibling set, and where the memory is not saturated: least squares on the set's own samples; where these do not
// determine it, on all samples. Where it is saturated: a count that saturation does not hold, likewise, on those samples; one
// that it holds by progress (what the executions count alone, less what they are known to have counted elsewhere), else by what
// the warps would ask for (the coefficients without saturation). Shares of each set are scaled so that they add up.
ShareResult estimate_shares(const Capture& capture, DeviceId device, const ShareTable& table, const ShareInput& input);

// 95% interval of own + any number of independent further errors: delete-one-block jackknife of the regression, given the warps
// and the device's count, with Student's t (Efron and Tibshirani, An Introduction to the Bootstrap, 11.5).
std::optional<double> share_half_width(const std::vector<double>& without_block, double own, double other_error);

}  // namespace kvet::questions
