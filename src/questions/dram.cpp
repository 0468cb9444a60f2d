// Question 2: how much of the memory bandwidth was in use while the kernel ran, and was it saturated?
// What it moves alone is here; beside siblings in dram_corun.cpp, its own share of that in unit_shares.cpp.
#include <fmt/core.h>

#include <algorithm>

#include "questions/counter_split.h"
#include "questions/dram_parts.h"
#include "questions/make_finding.h"
#include "questions/sensitivity.h"
#include "questions/unit_shares.h"

namespace kvet::questions {
namespace {

constexpr uint64_t least_pooled_runs = 30;

struct Solo {
  std::optional<Estimate> estimate;  // bytes per ns
  Evidence evidence = Evidence::unavailable;
};

Solo solo_rate(const Capture& capture, const KernelSet& kernels, const std::vector<DramDevice>& devices,
               Direction direction, bool is_short, double reference) {
  std::vector<Cluster> clusters;
  for (const DramDevice& one : devices) {
    const auto more = pool_exclusive(one.samples, one.timeline->whole, one.forbidden,
                                     [&](const Sample& sample, double ns) -> std::optional<PoolTerm> {
                                       const auto moved = dram_bytes(sample, direction);
                                       return moved ? std::optional<PoolTerm>{{*moved, ns}} : std::nullopt;
                                     });
    clusters.insert(clusters.end(), more.begin(), more.end());
  }
  if (auto estimate = ratio_of_sums(clusters); estimate && (!is_short || clusters.size() >= least_pooled_runs)) {
    return {estimate, Evidence::measured};
  }
  for (const DramDevice& one : devices) {
    if (auto split = split_rate(
            capture, kernels, *one.timeline, one.samples, one.transfers,
            [&](const Sample& sample) { return dram_bytes(sample, direction); }, reference)) {
      return {split, Evidence::attributed};
    }
  }
  return {};
}

}  // namespace

std::vector<Finding> dram(const Capture& capture, const KernelSet& kernels) {
  std::vector<Finding> findings;
  const std::vector<DeviceTimeline> timeline = timelines(capture, kernels);
  if (timeline.empty()) {
    const bool any = !capture.executions.empty();
    constexpr std::pair<const char*, const char*> ids[] = {{"dram.solo", "bytes/s"},
                                                           {"dram.corun.device", "bytes/s"},
                                                           {"dram.saturated", "%"},
                                                           {"dram.bytes_per_execution", "bytes"},
                                                           {"dram.own", "bytes/s"},
                                                           {"l2.own", "bytes/s"},
                                                           {"instructions.own", "instructions/cycle"},
                                                           {"tensor.own", "%"},
                                                           {"dram.sensitivity", "%/(100 GB/s)"}};
    for (const auto& [id, unit] : ids) {
      findings.push_back(
          unavailable(Question::dram, id, kernels.label, unit,
                      any ? "the kernel did not run in this part of the capture" : "this capture holds no executions",
                      any ? "choose another window or pattern"
                          : "record with `kvet record -- CMD`: the device tier sees executions"));
    }
    return findings;
  }
  std::vector<DramDevice> devices;
  double duration = 0, interval = 0;
  uint64_t whole = 0;
  for (const DeviceTimeline& each : timeline) {
    devices.push_back(dram_device(capture, each));
    interval = std::max(interval, devices.back().samples.interval_ns);
    for (const Run& run : each.runs) {
      if (run.alone_throughout) {
        duration += static_cast<double>(run.to_ns - run.from_ns);
        ++whole;
      }
    }
  }
  const double mean_duration = whole > 0 ? duration / static_cast<double>(whole) : 0;
  const bool is_short = whole > 0 && mean_duration < 3 * interval;
  const double peak_bytes = peak_bytes_per_s(devices);

  const std::string pooled = is_short ? fmt::format(
                                            " Each execution is shorter than three sampling intervals ({:.1f} us), so "
                                            "the figure exists only for many together.",
                                            interval / 1e3)
                                      : "";
  Solo total;
  for (Direction direction : {Direction::both, Direction::read, Direction::write}) {
    const char* id = direction == Direction::both   ? "dram.solo"
                     : direction == Direction::read ? "dram.solo.read"
                                                    : "dram.solo.write";
    const char* verb = direction == Direction::both ? "moves" : direction == Direction::read ? "reads" : "writes";
    const Solo solo =
        solo_rate(capture, kernels, devices, direction, is_short, total.estimate ? total.estimate->value : 0);
    if (direction == Direction::both) {
      total = solo;
    }
    if (solo.estimate) {
      const std::string how = solo.evidence == Evidence::attributed
                                  ? " Samples were split by time between the kernels that followed one another in them."
                                  : "";
      add_rate(findings, id, kernels.label, *solo.estimate, solo.evidence, peak_bytes, fmt::format("Alone it {}", verb),
               how + pooled);
    } else {
      const Unknown unknown = why_no_dram(devices, whole);
      findings.push_back(unavailable(Question::dram, id, kernels.label, "bytes/s", unknown.reason, unknown.advice));
    }
  }
  if (total.estimate && whole > 0) {
    Finding finding = found(Question::dram, "dram.bytes_per_execution", kernels.label,
                            total.estimate->value * mean_duration, "bytes", total.evidence, total.estimate->clusters,
                            fmt::format("Alone an execution moves {:.3f} MB to and from DRAM: its throughput times its "
                                        "mean solo duration of {:.1f} us.",
                                        total.estimate->value * mean_duration / 1e6, mean_duration / 1e3));
    if (total.estimate->interval) {
      finding.interval = scaled(*total.estimate->interval, mean_duration, 0, 1e300);
    }
    findings.push_back(std::move(finding));
  } else {
    const Unknown unknown = why_no_dram(devices, whole);
    findings.push_back(unavailable(Question::dram, "dram.bytes_per_execution", kernels.label, "bytes", unknown.reason,
                                   unknown.advice));
  }
  add_dram_corun(findings, kernels, devices, peak_bytes, whole);
  add_saturated(findings, kernels, devices, whole);
  std::vector<DeviceResidency> residency;
  residency.reserve(devices.size());
  for (const DramDevice& one : devices) {
    residency.push_back(device_residency(capture, one.timeline->device, one.samples, &kernels));
  }
  std::vector<ShareDevice> sharing;
  for (size_t i = 0; i < devices.size(); ++i) {
    sharing.push_back({&devices[i], &residency[i]});
  }
  add_shares(findings, capture, kernels, sharing, peak_bytes);
  add_sensitivity(findings, capture, kernels, devices);
  return only_finite(std::move(findings));
}

}  // namespace kvet::questions
