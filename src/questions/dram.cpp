// Question 2: how much of the memory bandwidth was in use while the kernel ran, and was it saturated?
#include <fmt/core.h>

#include <algorithm>

#include "questions/counter_pool.h"
#include "questions/counter_split.h"
#include "questions/device_busy.h"
#include "questions/make_finding.h"
#include "questions/questions.h"
#include "questions/timeline.h"

namespace kvet::questions {
namespace {

constexpr uint64_t least_pooled_runs = 30;
// What a device reaches of its theoretical peak at best; a calibration of the device would replace it.
constexpr double saturation_share = 0.92;

enum class Direction : uint8_t { read, write, both };

std::optional<double> bytes(const Sample& sample, Direction direction) {
  switch (direction) {
    case Direction::read: return sample.dram_read_bytes;
    case Direction::write: return sample.dram_write_bytes;
    case Direction::both: break;
  }
  return sample.dram_read_bytes && sample.dram_write_bytes
             ? std::optional{*sample.dram_read_bytes + *sample.dram_write_bytes}
             : std::nullopt;
}

// How long the L2 may still be writing back what an earlier kernel or copy left in it: twice the time to drain all of it
// at peak bandwidth, 50 us where the device's figures are unknown.
int64_t write_back_ns(const Device& device) {
  if (device.l2_bytes == 0 || device.memory_bandwidth_bytes_per_s == 0) {
    return 50'000;
  }
  // At most a second: no cache takes longer, but a file may say so.
  return static_cast<int64_t>(std::min(
      1e9, 2e9 * static_cast<double>(device.l2_bytes) / static_cast<double>(device.memory_bandwidth_bytes_per_s)));
}

struct OneDevice {
  const Device* device;
  const DeviceTimeline* timeline;
  DeviceSamples samples;
  SpanSet transfers;
  SpanSet forbidden;  // for solo figures
};

OneDevice prepare(const Capture& capture, const DeviceTimeline& timeline) {
  OneDevice one{&capture.devices[timeline.device.value],
                &timeline,
                device_samples(capture, timeline.device),
                device_transferring(capture, timeline.device),
                {}};
  const int64_t band = write_back_ns(*one.device);
  std::vector<Span> spans = difference(timeline.kernels, timeline.whole).spans();
  spans.insert(spans.end(), one.transfers.spans().begin(), one.transfers.spans().end());
  for (Span& span : spans) {
    span.to += band;
  }
  one.forbidden = SpanSet{std::move(spans)};
  return one;
}

struct Unknown {
  std::string reason, advice;
};

// Why there is no figure, the most basic cause first.
Unknown why_not(const std::vector<OneDevice>& devices, uint64_t whole) {
  for (const OneDevice& one : devices) {
    if (!one.samples.guard_ns) {
      return {one.samples.reason, one.samples.advice};
    }
  }
  const bool any = std::ranges::any_of(devices, [](const OneDevice& one) {
    return std::ranges::any_of(one.samples.samples,
                               [](const Sample* sample) { return bytes(*sample, Direction::both).has_value(); });
  });
  if (!any) {
    return {"the counter samples hold no DRAM bytes", "`kvet doctor` says which counters this device has"};
  }
  if (whole == 0) {
    return {"no execution was alone from start to end",
            "record it once more without the other streams, or see its co-run figures"};
  }
  return {"no sample reads this kernel by itself: other kernels or copies are too near in time",
          "record with a shorter --interval, or longer"};
}

struct Solo {
  std::optional<Estimate> estimate;  // bytes per ns
  Evidence evidence = Evidence::unavailable;
};

Solo solo_rate(const Capture& capture, const KernelSet& kernels, const std::vector<OneDevice>& devices,
               Direction direction, bool is_short, double reference) {
  std::vector<Cluster> clusters;
  for (const OneDevice& one : devices) {
    const auto more = pool_exclusive(one.samples, one.timeline->whole, one.forbidden,
                                     [&](const Sample& sample, double ns) -> std::optional<PoolTerm> {
                                       const auto moved = bytes(sample, direction);
                                       return moved ? std::optional<PoolTerm>{{*moved, ns}} : std::nullopt;
                                     });
    clusters.insert(clusters.end(), more.begin(), more.end());
  }
  if (auto estimate = ratio_of_sums(clusters); estimate && (!is_short || clusters.size() >= least_pooled_runs)) {
    return {estimate, Evidence::measured};
  }
  for (const OneDevice& one : devices) {
    if (auto split = split_rate(
            capture, kernels, *one.timeline, one.samples, one.transfers,
            [&](const Sample& sample) { return bytes(sample, direction); }, reference)) {
      return {split, Evidence::attributed};
    }
  }
  return {};
}

double peak(const std::vector<OneDevice>& devices) {
  // Percentages pool over devices only where they are alike.
  double value = 0;
  for (const OneDevice& one : devices) {
    const auto each = static_cast<double>(one.device->memory_bandwidth_bytes_per_s);
    if (each == 0 || (value != 0 && each != value)) {
      return 0;
    }
    value = each;
  }
  return value;
}

void add_rate(std::vector<Finding>& findings, const std::string& id, const std::string& label, const Estimate& estimate,
              Evidence evidence, double peak_bytes, const std::string& sentence, const std::string& more) {
  const double per_second = estimate.value * 1e9;
  const std::string of_peak =
      peak_bytes > 0 ? fmt::format(", {:.1f}% of the theoretical peak", 100 * per_second / peak_bytes) : "";
  Finding finding = found(Question::dram, id, label, per_second, "bytes/s", evidence, estimate.clusters,
                          fmt::format("{} {:.1f} GB/s{}.{}", sentence, per_second / 1e9, of_peak, more));
  if (estimate.interval) {
    finding.interval = scaled(*estimate.interval, 1e9, 0, 1e300);
  }
  findings.push_back(finding);
  if (peak_bytes > 0) {
    finding.id += ".percent";
    finding.value = per_second * (100 / peak_bytes);
    finding.unit = "%";
    if (finding.interval) {
      finding.interval = scaled(*finding.interval, 100 / peak_bytes, 0, 1e300);
    }
    findings.push_back(std::move(finding));
  }
}

void add_corun(std::vector<Finding>& findings, const KernelSet& kernels, const std::vector<OneDevice>& devices,
               double peak_bytes, uint64_t whole) {
  std::vector<Cluster> inside, weighted;
  double time = 0;
  for (const OneDevice& one : devices) {
    time += static_cast<double>(one.timeline->beside.total());
    auto term = [](const Sample& sample, double ns) -> std::optional<PoolTerm> {
      const auto moved = bytes(sample, Direction::both);
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
    const Unknown unknown = why_not(devices, std::max<uint64_t>(whole, 1));
    findings.push_back(unavailable(Question::dram, id, kernels.label, "bytes/s", unknown.reason, unknown.advice));
  }
}

void add_saturated(std::vector<Finding>& findings, const KernelSet& kernels, const std::vector<OneDevice>& devices,
                   uint64_t whole) {
  constexpr const char* id = "dram.saturated";
  std::vector<Cluster> inside, mostly;
  bool peak_known = true;
  for (const OneDevice& one : devices) {
    const double limit =
        saturation_share * static_cast<double>(one.device->memory_bandwidth_bytes_per_s) / 1e9;  // bytes per ns
    if (limit <= 0) {
      peak_known = false;
      continue;
    }
    std::vector<Span> spans = one.timeline->alone.spans();
    spans.insert(spans.end(), one.timeline->beside.spans().begin(), one.timeline->beside.spans().end());
    const SpanSet running{std::move(spans)};
    auto term = [&](const Sample& sample, double ns) -> std::optional<PoolTerm> {
      const auto moved = bytes(sample, Direction::both);
      return moved ? std::optional<PoolTerm>{{*moved >= limit * ns ? ns : 0, ns}} : std::nullopt;
    };
    const auto more = pool_inside(one.samples, running, term);
    inside.insert(inside.end(), more.begin(), more.end());
    for (const Sample* sample : one.samples.samples) {
      const auto length = static_cast<double>(sample->end_ns - sample->start_ns);
      const double part = static_cast<double>(running.covered(sample->start_ns, sample->end_ns));
      if (const auto each = term(*sample, length); each && part >= 0.5 * length && one.samples.guard_ns) {
        mostly.push_back({each->numerator / length * part, part});
      }
    }
  }
  const std::string_view what =
      "of its sampled time the device moves at least 92% of its theoretical peak (the threshold is a share of the "
      "specification: this device "
      "was not calibrated).";
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
  } else if (!peak_known) {
    findings.push_back(unavailable(Question::dram, id, kernels.label, "%",
                                   "the device's peak bandwidth is not in this capture",
                                   "record with `kvet record`, which asks the driver"));
  } else {
    const Unknown unknown = why_not(devices, std::max<uint64_t>(whole, 1));
    findings.push_back(unavailable(Question::dram, id, kernels.label, "%", unknown.reason, unknown.advice));
  }
}

}  // namespace

std::vector<Finding> dram(const Capture& capture, const KernelSet& kernels) {
  std::vector<Finding> findings;
  const std::vector<DeviceTimeline> timeline = timelines(capture, kernels);
  if (timeline.empty()) {
    const bool any = !capture.executions.empty();
    for (const char* id : {"dram.solo", "dram.corun.device", "dram.saturated", "dram.bytes_per_execution"}) {
      const std::string_view unit = id == std::string_view{"dram.saturated"}             ? "%"
                                    : id == std::string_view{"dram.bytes_per_execution"} ? "bytes"
                                                                                         : "bytes/s";
      findings.push_back(
          unavailable(Question::dram, id, kernels.label, std::string{unit},
                      any ? "the kernel did not run in this part of the capture" : "this capture holds no executions",
                      any ? "choose another window or pattern"
                          : "record with `kvet record -- CMD`: the device tier sees executions"));
    }
    return findings;
  }
  std::vector<OneDevice> devices;
  double duration = 0, interval = 0;
  uint64_t whole = 0;
  for (const DeviceTimeline& each : timeline) {
    devices.push_back(prepare(capture, each));
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
  const double peak_bytes = peak(devices);

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
      const Unknown unknown = why_not(devices, whole);
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
    const Unknown unknown = why_not(devices, whole);
    findings.push_back(unavailable(Question::dram, "dram.bytes_per_execution", kernels.label, "bytes", unknown.reason,
                                   unknown.advice));
  }
  add_corun(findings, kernels, devices, peak_bytes, whole);
  add_saturated(findings, kernels, devices, whole);
  return only_finite(std::move(findings));
}

}  // namespace kvet::questions
