// What every figure of question 2 needs of a device, and says where it cannot be had.
#include <fmt/core.h>

#include <algorithm>

#include "questions/device_busy.h"
#include "questions/dram_parts.h"
#include "questions/make_finding.h"

namespace kvet::questions {

std::optional<double> dram_bytes(const Sample& sample, Direction direction) {
  const auto read = plausible_count(sample.dram_read_bytes), write = plausible_count(sample.dram_write_bytes);
  switch (direction) {
    case Direction::read: return read;
    case Direction::write: return write;
    case Direction::both: break;
  }
  return read && write ? std::optional{*read + *write} : std::nullopt;
}

int64_t write_back_ns(const Device& device) {
  if (device.l2_bytes == 0 || device.memory_bandwidth_bytes_per_s == 0) {
    return 50'000;
  }
  // At most a second: no cache takes longer, but a file may say so.
  return static_cast<int64_t>(std::min(
      1e9, 2e9 * static_cast<double>(device.l2_bytes) / static_cast<double>(device.memory_bandwidth_bytes_per_s)));
}

DramDevice dram_device(const Capture& capture, const DeviceTimeline& timeline) {
  DramDevice one{&capture.devices[timeline.device.value],
                 &timeline,
                 device_samples(capture, timeline.device),
                 device_transferring(capture, timeline.device),
                 {},
                 ReachableBandwidth{capture, capture.devices[timeline.device.value]}};
  const int64_t band = write_back_ns(*one.device);
  std::vector<Span> spans = difference(timeline.kernels, timeline.whole).spans();
  spans.insert(spans.end(), one.transfers.spans().begin(), one.transfers.spans().end());
  for (Span& span : spans) {
    span.to += band;
  }
  one.forbidden = SpanSet{std::move(spans)};
  return one;
}

Unknown why_no_dram(const std::vector<DramDevice>& devices, uint64_t whole) {
  for (const DramDevice& one : devices) {
    if (!one.samples.guard_ns) {
      return {one.samples.reason, one.samples.advice};
    }
  }
  const bool any = std::ranges::any_of(devices, [](const DramDevice& one) {
    return std::ranges::any_of(one.samples.samples,
                               [](const Sample* sample) { return dram_bytes(*sample, Direction::both).has_value(); });
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

double peak_bytes_per_s(const std::vector<DramDevice>& devices) {
  // Percentages pool over devices only where they are alike.
  double value = 0;
  for (const DramDevice& one : devices) {
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

}  // namespace kvet::questions
