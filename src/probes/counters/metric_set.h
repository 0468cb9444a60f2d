// Which hardware metrics are sampled. Everything must fit into one pass, since a pass cannot be repeated under a live
// workload. Names differ between chips, so each quantity has several, and CUPTI is asked which exist and fit.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/counters.h"

namespace kvet::probes {

// Groups in order of worth: when not all fit, the last one goes first.
enum class MetricGroup : uint8_t {
  basic,        // cycles, active cycles, resident warps, DRAM bytes: occupancy and bandwidth of the device
  flows,        // warps launched, blocks completed, context switches: edges for alignment, counts to check against
  fingerprint,  // registers and shared memory in use: whose warps they are
  extremes,     // fullest and emptiest SM
  detail,       // instructions, tensor cycles, L2 sectors
};

struct Metric {
  kvet_counter_field field;
  MetricGroup group;
  const char* name;  // as CUPTI spells it
};

// All that kvet knows, by worth; several in a row with the same field are alternatives, the most exact one first. All
// are sums over the device's units, except where the field says otherwise: CUPTI evaluates a sum in half the time of a
// ratio, and sums can be added up over samples.
[[nodiscard]] std::span<const Metric> known_metrics();

// How many passes this list needs; nothing where CUPTI knows one of the names not or cannot schedule the list.
using CountPasses = std::function<std::optional<size_t>(const std::vector<const char*>&)>;

// The largest set, by worth, that fits into one pass; at most one metric per field. `up_to`: leave out later groups.
[[nodiscard]] std::vector<Metric> choose_metrics(const CountPasses& passes, MetricGroup up_to = MetricGroup::detail);

// Fields of these groups of which no metric was chosen, as names for a message: "register_cycles, tensor_cycles".
[[nodiscard]] std::string missing_fields(const std::vector<Metric>& chosen, MetricGroup up_to);
[[nodiscard]] const char* field_name(kvet_counter_field field);

}  // namespace kvet::probes
