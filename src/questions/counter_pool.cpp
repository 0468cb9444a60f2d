#include "questions/counter_pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "questions/missing_source.h"
#include "questions/sample_check.h"

namespace kvet::questions {
namespace {

// So that no sum of times overflows; nothing is left to count long before that.
constexpr int64_t guard_limit_ns = 1'000'000'000;

int64_t bounded(std::optional<int64_t> value) {
  return std::clamp<int64_t>(value.value_or(0), -guard_limit_ns, guard_limit_ns);
}

// How far an execution may be from where samples see it, under this mapping.
int64_t guard_of(const ClockMapping& mapping) {
  const int64_t residual =
      mapping.residual_p95_ns ? bounded(mapping.residual_p95_ns) : 3 * bounded(mapping.residual_ns);
  const int64_t bias = std::max(std::abs(bounded(mapping.start_bias_ns)), std::abs(bounded(mapping.end_bias_ns)));
  return std::max<int64_t>(0, residual) + bias;
}

}  // namespace

size_t span_after(const SpanSet& set, int64_t time) {
  auto found = std::ranges::upper_bound(set.spans(), time, {}, &Span::to);
  return static_cast<size_t>(found - set.spans().begin());
}

DeviceSamples device_samples(const Capture& capture, DeviceId device) {
  DeviceSamples result;
  std::vector<double> lengths;
  for (const Sample& sample : capture.samples) {
    if (sample.device == device && sample.end_ns > sample.start_ns && possible(sample, capture.devices[device.value])) {
      result.samples.push_back(&sample);
      lengths.push_back(static_cast<double>(sample.end_ns - sample.start_ns));
    }
  }
  if (result.samples.empty()) {
    auto missing = missing_counters(
        capture,
        {"the capture holds no counter samples of this device",
         "record with --counters pm, as a user who may read the counters; `kvet doctor` says what is missing"});
    result.reason = std::move(missing.reason);
    result.advice = std::move(missing.advice);
    return result;
  }
  result.interval_ns = quantile(lengths, 0.5);
  // The worst piece decides; a mapping of this very device goes before one of all.
  bool own = false;
  for (const ClockMapping& mapping : capture.clock_mappings) {
    own = own || (mapping.source == ClockSource::counters && mapping.device == device);
  }
  std::vector<const ClockMapping*> mappings;
  for (const ClockMapping& mapping : capture.clock_mappings) {
    if (mapping.source == ClockSource::counters && (own ? mapping.device == device : !mapping.device)) {
      mappings.push_back(&mapping);
    }
  }
  std::ranges::stable_sort(mappings, {}, [](const ClockMapping* mapping) { return mapping->from_ns; });
  // A recording begins with a rough mapping that nobody verified, and a better one follows. Samples that only the rough one
  // reaches are left out.
  const bool any = !mappings.empty();
  const auto better =
      std::ranges::find_if(mappings, [](const ClockMapping* mapping) { return mapping->residual_ns.has_value(); });
  if (better != mappings.begin() && better != mappings.end()) {
    const int64_t from_ns = (*better)->from_ns + (*better)->offset_ns;
    std::erase_if(result.samples, [&](const Sample* sample) { return sample->start_ns < from_ns; });
    mappings.erase(mappings.begin(), better);
  }
  bool verified = true;
  int64_t guard = 0;
  for (const ClockMapping* mapping : mappings) {
    verified = verified && mapping->residual_ns.has_value();
    guard = std::max(guard, guard_of(*mapping));
  }
  if (!any || !verified || result.samples.empty()) {
    result.reason = any ? "the alignment of the counters' clock with the executions could not be verified"
                        : "the counters' clock was not aligned with the executions";
    if (const std::string_view said = capture.fact("counters.alignment"); said.find("not aligned") != said.npos) {
      result.reason += fmt::format(" ({})", said);
    }
    result.advice =
        "record longer, with a load that leaves the device idle now and then: the clocks are matched at the edges of "
        "busy times";
    return result;
  }
  result.guard_ns = guard;
  return result;
}

}  // namespace kvet::questions
