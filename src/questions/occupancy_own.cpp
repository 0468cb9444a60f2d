// occupancy.corun.own, overall and per set of siblings, and occupancy.retained: words around own_share.h.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/quadrature.h"
#include "questions/make_finding.h"
#include "questions/occupancy_parts.h"
#include "questions/own_share.h"

namespace kvet::questions {
namespace {

constexpr const char* own_id = "occupancy.corun.own";
constexpr const char* retained_id = "occupancy.retained";

std::string siblings_text(const Capture& capture, const std::vector<StringId>& siblings) {
  std::string text;
  for (StringId sibling : siblings) {
    text += (text.empty() ? "" : " + ") + capture.text(sibling);
  }
  return text;
}

// "rank 3 for 5 launch shapes; condition numbers up to 4.1"
std::string system_text(const OwnShare& share) {
  std::string text;
  if (share.shapes > 0) {
    text = fmt::format("rank {} for {} launch shapes", share.least_rank, share.shapes);
  }
  if (share.worst_condition > 0) {
    text += fmt::format("{}condition number{} {:.1f}", text.empty() ? "" : ", elsewhere ",
                        share.siblings.empty() ? "s up to" : "", share.worst_condition);
  }
  return text.empty() ? "no vectors" : text;
}

Finding own_finding(const Capture& capture, const KernelSet& kernels, const OwnShare& share, const std::string& doubt) {
  const double milliseconds = share.time_ns / 1e6;
  const std::string beside = siblings_text(capture, share.siblings);
  Finding finding;
  if (!share.resolved()) {
    const std::string range = fmt::format("{:.1f}% to {:.1f}% of the warp slots are possible, in {:.3f} ms",
                                          100 * share.low, 100 * share.high, milliseconds);
    finding =
        share.too_coarse()
            ? unavailable(Question::occupancy, own_id, kernels.label, "%",
                          "unresolved: only " + fmt::format("{:.0f}%", 100 * share.within_ns / share.time_ns) +
                              " of that time lies in samples that hold nothing else of it, and its warps change "
                              "faster than samples follow each other; " +
                              range,
                          "record with a shorter --interval")
            : unavailable(Question::occupancy, own_id, kernels.label, "%",
                          "unresolved: warps, registers, shared memory and what fits do not tell the kernels apart (" +
                              system_text(share) + "); " + range,
                          "give one of the kernels another block size, register count or amount of shared memory, or "
                          "record it beside one sibling at a time");
    finding.interval = scaled({share.low, share.high}, 100, 0, 100);
    finding.observations = share.batches;
  } else {
    const double whole = 100 * share.within_ns / share.time_ns;
    finding = found(
        Question::occupancy, own_id, kernels.label, 100 * share.value, "%", Evidence::attributed, share.batches,
        fmt::format("Beside {} its own warps occupy {:.1f}% of the slots (elapsed) over {:.3f} ms, by the resource "
                    "fingerprint: {}. "
                    "{:.0f}% of that time lies in samples that hold nothing else of it; in the others its residency "
                    "is taken to be linear in time. Errors in points: {:.2f} by the workload's variation, {:.2f} left "
                    "open "
                    "by the data, {:.2f} by the readings, {:.2f} by the clocks.{}",
                    share.siblings.empty() ? "siblings" : "these", 100 * share.value, milliseconds, system_text(share),
                    whole, 100 * share.statistical, 100 * in_quadrature(share.open, share.mixing), 100 * share.reading,
                    100 * share.clock, doubt));
    if (share.interval) {
      finding.interval = scaled(*share.interval, 100, 0, 100);
    }
  }
  finding.beside = beside;
  return finding;
}

Finding retained_finding(const KernelSet& kernels, const OwnShare& own, const std::optional<Estimate>& solo) {
  const bool solo_known = solo && solo->value > 0;
  if (!own.resolved()) {
    std::string reason = "its own share beside siblings is unresolved";
    if (solo_known) {
      reason += fmt::format(": {:.2f} to {:.2f} of what it has alone", own.low / solo->value, own.high / solo->value);
    }
    Finding finding = unavailable(Question::occupancy, retained_id, kernels.label, "ratio", std::move(reason),
                                  "see occupancy.corun.own");
    if (solo_known) {
      finding.interval = Interval{own.low / solo->value, own.high / solo->value};
    }
    return finding;
  }
  if (!solo_known) {
    return unavailable(Question::occupancy, retained_id, kernels.label, "ratio", "its solo occupancy is not known",
                       "see occupancy.solo");
  }
  const double ratio = own.value / solo->value;
  Finding finding =
      found(Question::occupancy, retained_id, kernels.label, ratio, "ratio", Evidence::attributed, own.batches,
            fmt::format("Beside siblings it keeps {:.2f} of the warps that it has alone (elapsed).", ratio));
  if (own.interval && solo->interval && own.value > 0) {
    // First order: relative errors of independent figures add up in squares.
    const double own_half = (own.interval->high - own.interval->low) / 2 / own.value;
    const double solo_half = (solo->interval->high - solo->interval->low) / 2 / solo->value;
    const double half = ratio * in_quadrature(own_half, solo_half);
    finding.interval = Interval{std::max(0.0, ratio - half), ratio + half};
  }
  return finding;
}

}  // namespace

void add_own(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
             const std::vector<DeviceTimeline>& devices, const std::vector<DeviceSamples>& samples,
             const std::optional<Estimate>& solo, const std::string& doubt) {
  auto unknown = [&](const std::string& reason, const std::string& advice) {
    findings.push_back(unavailable(Question::occupancy, own_id, kernels.label, "%", reason, advice));
    findings.push_back(unavailable(Question::occupancy, retained_id, kernels.label, "ratio", reason, advice));
  };
  const bool any = std::ranges::any_of(devices, [](const DeviceTimeline& device) { return device.beside.total() > 0; });
  std::vector<DeviceResidency> residency;
  residency.reserve(devices.size());
  std::vector<OwnSource> sources;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!samples[i].guard_ns) {
      return unknown(samples[i].reason, samples[i].advice);
    }
    if (!any) {
      continue;
    }
    residency.push_back(device_residency(capture, devices[i].device, samples[i], &kernels));
    if (residency.back().samples.empty()) {
      return unknown(residency.back().reason, residency.back().advice);
    }
    sources.push_back({&devices[i], &samples[i], &residency.back()});
  }
  if (!any) {
    return unknown("no sibling ever ran beside it", "see occupancy.solo");
  }
  const OwnShares shares = own_shares(capture, kernels, sources);
  if (shares.overall.time_ns <= 0) {
    return unknown("no sample with resident warps lies in its co-run time",
                   "record longer, with --counters pm on a device whose warps can be sampled");
  }
  std::string said = doubt;
  for (const DeviceResidency& device : residency) {
    for (ShapeId shape : device.early_exits) {
      said += fmt::format(" Warps of {} exit before their block, as its solo samples show: that is reckoned with.",
                          capture.kernel_name(shape));
    }
  }
  findings.push_back(own_finding(capture, kernels, shares.overall, said));
  for (const OwnShare& set : shares.sets) {
    findings.push_back(own_finding(capture, kernels, set, ""));
  }
  findings.push_back(retained_finding(kernels, shares.overall, solo));
}

}  // namespace kvet::questions
