#include "clocks/anchored_alignment.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace kvet::clocks {
namespace {

// Without a second anchor the drift is unknown: GPU and host clocks differ by 2.8 µs/s on an H200, by some tens of ppm at most.
constexpr double worst_drift = 60e-6;
constexpr int64_t mapping_lead_ns = 2'000'000'000;
// Pulses and executions are the same clock's if they lie within this, their own residuals aside: kernels begin and end a µs
// or two beside what CUPTI says, and CUPTI's own conversion to CLOCK_MONOTONIC is no better.
constexpr int64_t tolerance_ns = 3'000;
// Where pulses know the offset this well, they also say how much of the bias is at the start and how much at the end.
constexpr int64_t fine_anchor_ns = 2'000;
constexpr int64_t least_reach_ns = 20'000;

double microseconds(int64_t ns) { return static_cast<double>(ns) / 1e3; }

int64_t worst_p95(const std::vector<ClockMapping>& anchors) {
  int64_t worst = 0;
  for (const ClockMapping& anchor : anchors) {
    worst = std::max(worst, anchor.residual_p95_ns.value_or(anchor.residual_ns.value_or(0)));
  }
  return worst;
}

// An anchor that is known worse than the other one says with the worst drift there can be tells nothing: a busy machine may
// have kept its handshakes waiting.
void leave_out_vague(std::vector<ClockMapping>& anchors) {
  const auto p95 = [](const ClockMapping& anchor) {
    return anchor.residual_p95_ns.value_or(anchor.residual_ns.value_or(0));
  };
  const ClockMapping best = *std::ranges::min_element(anchors, {}, p95);
  std::erase_if(anchors, [&](const ClockMapping& anchor) {
    const auto apart = static_cast<double>(std::abs(anchor.from_ns - best.from_ns));
    return static_cast<double>(p95(anchor)) > static_cast<double>(p95(best)) + worst_drift * apart;
  });
}

// From the first anchor to the last in a straight line.
AnchoredAlignment by_anchors(const std::vector<ClockMapping>& anchors, int64_t first_raw_ns, int64_t last_raw_ns) {
  const ClockMapping &first = anchors.front(), &last = anchors.back();
  AnchoredAlignment result;
  ClockMapping mapping = first;
  mapping.from_ns = std::min(first.from_ns, first_raw_ns) - mapping_lead_ns;
  mapping.residual_ns = std::max(first.residual_ns.value_or(0), last.residual_ns.value_or(0));
  mapping.residual_p95_ns = worst_p95(anchors);
  const auto span = static_cast<double>(last.from_ns - first.from_ns);
  if (span > 0) {
    const double slope = static_cast<double>(last.offset_ns - first.offset_ns) / span;
    mapping.drift_ns_per_s = slope * 1e9;
    mapping.offset_ns = first.offset_ns + std::llround(slope * static_cast<double>(mapping.from_ns - first.from_ns));
    result.said = fmt::format("pulses before and after, known to {:.2f} µs, drift {:.2f} µs/s",
                              microseconds(*mapping.residual_p95_ns), mapping.drift_ns_per_s / 1e3);
  } else {
    const int64_t reach = std::max({int64_t{0}, first.from_ns - first_raw_ns, last_raw_ns - first.from_ns});
    const int64_t growth = std::llround(worst_drift * static_cast<double>(reach));
    mapping.residual_ns = *mapping.residual_ns + growth / 2;
    mapping.residual_p95_ns = *mapping.residual_p95_ns + growth;
    result.said = fmt::format("pulses at one end of the recording alone, known to {:.2f} µs since the drift is not",
                              microseconds(*mapping.residual_p95_ns));
  }
  result.mappings.push_back(mapping);
  return result;
}

int64_t offset_at(const std::vector<ClockMapping>& mappings, int64_t raw_ns) {
  const ClockMapping* holds = &mappings.front();
  for (const ClockMapping& mapping : mappings) {
    holds = mapping.from_ns <= raw_ns ? &mapping : holds;
  }
  return holds->offset_ns + std::llround(holds->drift_ns_per_s * (static_cast<double>(raw_ns - holds->from_ns) / 1e9));
}

// How far beside the mappings each anchor lies.
std::vector<int64_t> distances(const std::vector<ClockMapping>& mappings, const std::vector<ClockMapping>& anchors) {
  std::vector<int64_t> result;
  result.reserve(anchors.size());
  for (const ClockMapping& anchor : anchors) {
    result.push_back(anchor.offset_ns - offset_at(mappings, anchor.from_ns));
  }
  return result;
}

int64_t worst(const std::vector<int64_t>& apart) {
  int64_t most = 0;
  for (const int64_t one : apart) {
    most = std::max(most, std::abs(one));
  }
  return most;
}

bool agree(const Alignment& alignment, const std::vector<ClockMapping>& anchors) {
  return worst(distances(alignment.mappings, anchors)) <= tolerance_ns + alignment.residual_ns + worst_p95(anchors);
}

Expectation expectation_from(const std::vector<ClockMapping>& anchors, int64_t first_raw_ns, int64_t last_raw_ns) {
  Expectation expected;
  expected.raw_origin_ns = anchors.front().from_ns;
  expected.offset_origin_ns = anchors.front().offset_ns;
  for (const ClockMapping& anchor : anchors) {
    expected.offsets.push_back({static_cast<double>(anchor.from_ns - expected.raw_origin_ns),
                                static_cast<double>(anchor.offset_ns - expected.offset_origin_ns)});
  }
  const double unknown_drift = anchors.size() > 1 ? 0 : worst_drift * static_cast<double>(last_raw_ns - first_raw_ns);
  expected.reach_ns = static_cast<double>(std::max(least_reach_ns, 2 * worst_p95(anchors))) + unknown_drift;
  return expected;
}

// Puts the mappings where the pulses are: they know the clock itself, and executions only begin and end near it.
void shift(Alignment& alignment, int64_t by_ns) {
  for (ClockMapping& mapping : alignment.mappings) {
    mapping.offset_ns += by_ns;
    if (alignment.half_bias_ns) {
      mapping.start_bias_ns = *alignment.half_bias_ns + by_ns;
      mapping.end_bias_ns = *alignment.half_bias_ns - by_ns;
    } else if (alignment.starts) {
      mapping.start_bias_ns = by_ns;
    } else {
      mapping.end_bias_ns = -by_ns;
    }
  }
}

std::string describe(const Alignment& alignment) {
  const char* by = alignment.by == AlignedBy::edges   ? "edges"
                   : alignment.by == AlignedBy::flows ? "stretches of starts and ends"
                                                      : "stretches of load";
  return fmt::format("{} {}, median residual {:.2f} µs, 95th percentile {:.2f} µs, drift {:.2f} µs/s",
                     alignment.matches, by, microseconds(alignment.residual_ns),
                     microseconds(alignment.residual_p95_ns), alignment.drift_ns_per_s / 1e3);
}

std::string describe_biases(const ClockMapping& mapping, bool apart) {
  std::string said;
  if (apart && mapping.start_bias_ns) {
    said += fmt::format("; kernels begin {:.2f} µs after their records", microseconds(*mapping.start_bias_ns));
  }
  if (apart && mapping.end_bias_ns) {
    said += fmt::format("; kernels end {:.2f} µs before their records", microseconds(*mapping.end_bias_ns));
  }
  if (!apart && mapping.start_bias_ns && mapping.end_bias_ns) {
    said += fmt::format("; kernels are {:.2f} µs shorter than their records",
                        microseconds(*mapping.start_bias_ns + *mapping.end_bias_ns));
  }
  return said;
}

std::string describe(const std::vector<int64_t>& apart, const std::vector<ClockMapping>& anchors) {
  std::string said = "; pulses, known to " + fmt::format("{:.2f} µs, lie", microseconds(worst_p95(anchors)));
  for (size_t i = 0; i < apart.size(); ++i) {
    said += fmt::format("{} {:+.2f} µs", i == 0 ? "" : " and", microseconds(apart[i]));
  }
  return said + " beside";
}

}  // namespace

Result<AnchoredAlignment> align_with_anchors(const CounterAlignment& alignment, std::vector<ClockMapping> anchors,
                                             int64_t first_raw_ns, int64_t last_raw_ns) {
  std::ranges::sort(anchors, {}, &ClockMapping::from_ns);
  auto found = alignment.align();
  if (anchors.empty()) {
    if (!found) {
      return std::unexpected(found.error());
    }
    return AnchoredAlignment{found->mappings, describe(*found) + describe_biases(found->mappings.front(), false)};
  }
  leave_out_vague(anchors);
  if (!found || !agree(*found, anchors)) {
    // A workload that repeats fits at several offsets, and one may fit by chance: near the pulses there is but one.
    const Expectation expected = expectation_from(anchors, first_raw_ns, last_raw_ns);
    auto near = alignment.align(&expected);
    if (near && (!found || agree(*near, anchors))) {
      found = std::move(near);
    }
  }
  if (!found) {
    AnchoredAlignment result = by_anchors(anchors, first_raw_ns, last_raw_ns);
    result.said += " (not by executions: " + found.error().message() + ")";
    return result;
  }
  const std::vector<int64_t> apart = distances(found->mappings, anchors);
  if (agree(*found, anchors)) {
    const bool fine = worst_p95(anchors) <= fine_anchor_ns;
    std::string said = describe(*found) + describe(apart, anchors);
    if (fine) {
      int64_t sum = 0;
      for (const int64_t one : apart) {
        sum += one;
      }
      shift(*found, sum / static_cast<int64_t>(apart.size()));
    }
    return AnchoredAlignment{found->mappings, said + describe_biases(found->mappings.front(), fine)};
  }
  // They contradict each other. The better known one goes into the file, with the distance as what may be wrong with it.
  const bool by_pulses = anchors.size() > 1 && worst_p95(anchors) < found->residual_p95_ns;
  AnchoredAlignment result =
      by_pulses ? by_anchors(anchors, first_raw_ns, last_raw_ns) : AnchoredAlignment{found->mappings, {}};
  for (ClockMapping& mapping : result.mappings) {
    mapping.residual_p95_ns = std::max(mapping.residual_p95_ns.value_or(0), worst(apart));
  }
  result.said = (by_pulses ? result.said + ", against " : std::string()) + describe(*found) + describe(apart, anchors) +
                ": the two contradict each other";
  return result;
}

}  // namespace kvet::clocks
