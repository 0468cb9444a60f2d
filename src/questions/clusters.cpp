#include "questions/clusters.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace kvet::questions {
namespace {

struct FullChip {
  uint32_t major, minor;
  uint32_t gpcs, sms_per_gpc;
};
// The largest chip of the compute capability with everything enabled. H100 white paper: GH100 has 8 GPCs of 9 TPCs of 2 SMs. RTX
// Blackwell white paper: GB202 has 12 GPCs of 8 TPCs of 2 SMs.
constexpr std::array<FullChip, 2> full_chips{{{9, 0, 8, 18}, {12, 0, 12, 16}}};
constexpr uint32_t sms_per_tpc = 2;  // what is disabled in a product is disabled by TPC

// The smallest or largest sum of value(SMs of a GPC) over all splits of `sms` over the GPCs.
template <class Value, class Better>
uint64_t over_splits(const FullChip& chip, uint32_t sms, const Value& value, const Better& better) {
  std::vector<std::optional<uint64_t>> best(sms + 1);  // by SMs in the GPCs so far; empty: no such split
  best[0] = 0;
  for (uint32_t gpc = 0; gpc < chip.gpcs; ++gpc) {
    auto next = best;  // this GPC may be disabled
    for (uint32_t before = 0; before < sms; ++before) {
      for (uint32_t here = sms_per_tpc; best[before] && here <= chip.sms_per_gpc && before + here <= sms;
           here += sms_per_tpc) {
        std::optional<uint64_t>& sum = next[before + here];
        const uint64_t more = *best[before] + value(here);
        sum = sum ? better(*sum, more) : more;
      }
    }
    best = std::move(next);
  }
  return best[sms].value_or(0);
}

}  // namespace

ClusterBounds cluster_bounds(const SmLimits& limits, uint32_t sms, uint64_t blocks_per_sm, uint64_t cluster_size) {
  if (sms == 0 || blocks_per_sm == 0 || cluster_size == 0) {
    return {};
  }
  const uint64_t everywhere = sms * blocks_per_sm / cluster_size;
  const auto chip = std::ranges::find_if(full_chips, [&](const FullChip& c) {
    return c.major == limits.compute_major && c.minor == limits.compute_minor && sms <= c.gpcs * c.sms_per_gpc &&
           sms % sms_per_tpc == 0;
  });
  if (chip == full_chips.end()) {
    return {std::min<uint64_t>(1, everywhere), everywhere};
  }
  const uint64_t least = over_splits(
      *chip, sms, [&](uint64_t here) { return here / cluster_size * blocks_per_sm; },
      [](uint64_t a, uint64_t b) { return std::min(a, b); });
  const uint64_t most = over_splits(
      *chip, sms, [&](uint64_t here) { return here * blocks_per_sm / cluster_size; },
      [](uint64_t a, uint64_t b) { return std::max(a, b); });
  return {least, most};
}

}  // namespace kvet::questions
