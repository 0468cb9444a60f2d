#include "export/metrics.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "export/device_metrics.h"
#include "export/metric_set.h"
#include "store/enumerations.h"

namespace kvet::exporting {
namespace {

// "device 1, NVIDIA H200" gives the device, if the capture has it.
std::optional<DeviceId> device_beside(const Capture& capture, std::string_view beside) {
  constexpr std::string_view prefix = "device ";
  if (!beside.starts_with(prefix)) {
    return std::nullopt;
  }
  beside.remove_prefix(prefix.size());
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(beside.data(), beside.data() + beside.size(), id);
  const bool ends = end == beside.data() + beside.size() || *end == ',';
  return error == std::errc{} && ends && id < capture.devices.size() ? std::optional(DeviceId{id}) : std::nullopt;
}

std::vector<Attribute> attributes_of(const MetricsSource& source, const Finding& finding, std::string_view kernel,
                                     const std::string& statistic) {
  std::vector<Attribute> attributes;
  if (!kernel.empty()) {
    attributes.push_back({"kvet.kernel", source.label(kernel)});
  } else if (!finding.subject.empty()) {
    attributes.push_back({"kvet.subject", source.label(finding.subject)});
  }
  if (!finding.beside.empty()) {
    attributes.push_back({"kvet.beside", source.label(finding.beside)});
  }
  if (const auto device = device_beside(*source.capture, finding.beside)) {
    attributes.push_back({"hw.id", hardware_id(*source.capture, *device)});
  }
  if (!statistic.empty()) {
    attributes.push_back({"kvet.statistic", statistic});
  }
  attributes.push_back({"kvet.evidence", name(finding.evidence)});
  return attributes;
}

void add_finding(MetricSet& set, const MetricsSource& source, const Finding& finding, std::string_view kernel) {
  if (!finding.value) {
    return;
  }
  const FindingName called = finding_name(finding.id, finding.unit);
  const std::vector<Attribute> attributes = attributes_of(source, finding, kernel, called.statistic);
  const std::string stem = called.name.substr(std::string_view("kvet.").size());
  set.add(called.name, called.ucum, fmt::format("Finding {} of docs/findings.md.", stem), attributes,
          *finding.value / called.divisor);
  if (finding.interval) {
    const std::string description = fmt::format("Bound of the 95% interval of finding {} of docs/findings.md.", stem);
    set.add(called.name + ".interval.low", called.ucum, description, attributes,
            finding.interval->low / called.divisor);
    set.add(called.name + ".interval.high", called.ucum, description, attributes,
            finding.interval->high / called.divisor);
  }
}

void add_kernels(MetricSet& set, const MetricsSource& source) {
  struct Total {
    uint64_t executions = 0;
    double time_ns = 0;
  };
  std::map<StringId, Total> totals;
  for (const Execution& execution : source.capture->executions) {
    Total& total = totals[source.capture->shapes[execution.shape.value].name];
    ++total.executions;
    total.time_ns += static_cast<double>(execution.end_ns - execution.start_ns);
  }
  for (const auto& [id, total] : totals) {
    const std::vector<Attribute> attributes{{"kvet.kernel", source.label(source.capture->text(id))}};
    set.add(Known::kernel_executions, attributes, static_cast<double>(total.executions));
    set.add(Known::kernel_time, attributes, total.time_ns / 1e9);
  }
}

void add_capture(MetricSet& set, const MetricsSource& source) {
  const Capture& capture = *source.capture;
  std::vector<Attribute> about;
  constexpr std::pair<const char*, const char*> facts[] = {{"tier", "kvet.tier"},
                                                           {"hostname", "kvet.hostname"},
                                                           {"driver_version", "kvet.driver_version"},
                                                           {"kernel_release", "kvet.kernel_release"},
                                                           {"kvet_version", "kvet.version"},
                                                           {"experiment.arm", "kvet.experiment.arm"},
                                                           {"import.format", "kvet.import.format"}};
  for (const auto& [key, attribute] : facts) {
    if (const std::string_view value = capture.fact(key); !value.empty()) {
      about.push_back({attribute, std::string{value}});
    }
  }
  set.add(Known::capture_info, std::move(about), 1);
  set.add(Known::capture_complete, {}, capture.complete ? 1 : 0);
  if (source.duration_ns) {
    set.add(Known::capture_duration, {}, static_cast<double>(*source.duration_ns) / 1e9);
  }
  std::map<std::pair<Source, LossKind>, uint64_t> losses;
  for (const Loss& loss : capture.losses) {
    losses[{loss.source, loss.kind}] += loss.count;
  }
  for (const auto& [what, count] : losses) {
    set.add(Known::capture_lost_records,
            {{"kvet.source", store::enumerator(what.first)}, {"kvet.kind", store::enumerator(what.second)}},
            static_cast<double>(count));
  }
}

void add_evidence(MetricSet& set, const MetricsSource& source) {
  constexpr std::array all{Evidence::measured, Evidence::attributed, Evidence::modelled, Evidence::unavailable};
  std::map<Evidence, uint64_t> counts;
  for (const Finding& finding : source.findings) {
    ++counts[finding.evidence];
  }
  for (const KernelFindings& kernel : source.kernels) {
    for (const Finding& finding : kernel.findings) {
      ++counts[finding.evidence];
    }
  }
  for (const Evidence evidence : all) {
    set.add(Known::capture_findings, {{"kvet.evidence", name(evidence)}}, static_cast<double>(counts[evidence]));
  }
}

}  // namespace

std::vector<Metric> metrics_of(const MetricsSource& source, Readings readings) {
  MetricSet set;
  add_capture(set, source);
  add_evidence(set, source);
  add_device_metrics(set, source, readings);
  add_kernels(set, source);
  for (const Finding& finding : source.findings) {
    add_finding(set, source, finding, "");
  }
  for (const KernelFindings& kernel : source.kernels) {
    for (const Finding& finding : kernel.findings) {
      add_finding(set, source, finding, kernel.name);
    }
  }
  return std::move(set).finish();
}

}  // namespace kvet::exporting
