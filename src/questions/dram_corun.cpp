// Question 2 beside siblings: what everybody moves together, and whether that is all that the memory can give.
#include <fmt/core.h>

#include "questions/dram_parts.h"
#include "questions/make_finding.h"

namespace kvet::questions {

void add_dram_corun(std::vector<Finding>& findings, const KernelSet& kernels, const std::vector<DramDevice>& devices,
                    double peak_bytes, uint64_t whole) {
  std::vector<Cluster> inside, weighted;
  double time = 0;
  for (const DramDevice& one : devices) {
    time += static_cast<double>(one.timeline->beside.total());
    auto term = [](const Sample& sample, double ns) -> std::optional<PoolTerm> {
      const auto moved = dram_bytes(sample, Direction::both);
      return moved ? std::optional<PoolTerm>{{*moved, ns}} : std::nullopt;
    };
    const auto more = pool_inside(one.samples, one.timeline->beside, term);
    inside.insert(inside.end(), more.begin(), more.end());
    for (const Sample* sample : one.samples.samples) {
      const double length = static_cast<double>(sample->end_ns - sample->start_ns);
      const double part = static_cast<double>(one.timeline->beside.covered(sample->start_ns, sample->end_ns)) / length;
      if (const auto each = term(*sample, length); each && part >= 0.5 && one.samples.guard_ns) {
        weighted.push_back({part * each->numerator, part * each->denominator});
      }
    }
  }
  constexpr const char* id = "dram.corun.device";
  if (time == 0) {
    findings.push_back(
        unavailable(Question::dram, id, kernels.label, "bytes/s", "no sibling ever ran beside it", "see dram.solo"));
  } else if (const auto estimate = ratio_of_sums(inside)) {
    add_rate(findings, id, kernels.label, *estimate, Evidence::measured, peak_bytes,
             "Beside siblings, everybody together moves", "");
  } else if (const auto rough = ratio_of_sums(weighted)) {
    add_rate(findings, id, kernels.label, *rough, Evidence::attributed, peak_bytes,
             "Beside siblings, everybody together moves about",
             " No sample lies wholly inside co-run time: samples that are mostly inside count by their overlap.");
  } else {
    const Unknown unknown = why_no_dram(devices, std::max<uint64_t>(whole, 1));
    findings.push_back(unavailable(Question::dram, id, kernels.label, "bytes/s", unknown.reason, unknown.advice));
  }
}

void add_saturated(std::vector<Finding>& findings, const KernelSet& kernels, const std::vector<DramDevice>& devices,
                   uint64_t whole) {
  constexpr const char* id = "dram.saturated";
  std::vector<Cluster> inside, mostly;
  size_t calibrated = 0, known = 0;
  for (const DramDevice& one : devices) {
    known += one.reachable.known() ? 1 : 0;
    calibrated += one.reachable.calibrated() ? 1 : 0;
    std::vector<Span> spans = one.timeline->alone.spans();
    spans.insert(spans.end(), one.timeline->beside.spans().begin(), one.timeline->beside.spans().end());
    const SpanSet running{std::move(spans)};
    auto term = [&](const Sample& sample, double ns) -> std::optional<PoolTerm> {
      const auto saturated = one.reachable.saturated(sample);
      return saturated ? std::optional<PoolTerm>{{*saturated ? ns : 0, ns}} : std::nullopt;
    };
    const auto more = pool_inside(one.samples, running, term);
    inside.insert(inside.end(), more.begin(), more.end());
    for (const Sample* sample : one.samples.samples) {
      const auto length = static_cast<double>(sample->end_ns - sample->start_ns);
      const auto part = static_cast<double>(running.covered(sample->start_ns, sample->end_ns));
      if (const auto each = term(*sample, part); each && part >= 0.5 * length && one.samples.guard_ns) {
        mostly.push_back({each->numerator, each->denominator});
      }
    }
  }
  const std::string what = fmt::format(
      "of its sampled time the device moves at least {:.0f}% of what it can reach at that mix of reads and writes "
      "({}).",
      100 * ReachableBandwidth::saturated_share,
      calibrated == devices.size() ? "as calibrated on this device"
      : calibrated > 0             ? "as calibrated on some of the devices, 92% of the theoretical peak on the others"
                       : "92% of its theoretical peak: this device was not calibrated, see `kvet doctor --calibrate`");
  auto add = [&](const Estimate& estimate, Evidence evidence, std::string_view more) {
    Finding finding = found(Question::dram, id, kernels.label, 100 * estimate.value, "%", evidence, estimate.clusters,
                            fmt::format("In {:.1f}% {}{}", 100 * estimate.value, what, more));
    if (estimate.interval) {
      finding.interval = scaled(*estimate.interval, 100, 0, 100);
    }
    findings.push_back(std::move(finding));
  };
  if (const auto estimate = ratio_of_sums(inside)) {
    add(*estimate, Evidence::measured, "");
  } else if (const auto rough = ratio_of_sums(mostly)) {
    add(*rough, Evidence::attributed,
        " It is shorter than a sampling interval, so its neighbours are in these samples too.");
  } else if (known < devices.size()) {
    findings.push_back(unavailable(
        Question::dram, id, kernels.label, "%", "the device's peak bandwidth is not in this capture",
        "record with `kvet record`, which asks the driver, or calibrate once with `kvet doctor --calibrate`"));
  } else {
    const Unknown unknown = why_no_dram(devices, std::max<uint64_t>(whole, 1));
    findings.push_back(unavailable(Question::dram, id, kernels.label, "%", unknown.reason, unknown.advice));
  }
}

}  // namespace kvet::questions
