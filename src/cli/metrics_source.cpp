#include "cli/metrics_source.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "cli/capture_report.h"
#include "cli/kernel_list.h"
#include "questions/device_busy.h"
#include "report/names.h"

namespace kvet::cli {
namespace {

constexpr size_t label_columns = 100;  // as `report` shows names

using Labels = std::map<std::string, std::string, std::less<>>;

Labels labels_of(const Capture& capture) {
  std::vector<std::string> names;
  for (ListedKernel& kernel : list_kernels(capture)) {
    names.push_back(std::move(kernel.name));
  }
  const std::vector<std::string> shorter = report::short_names(names, label_columns);
  Labels labels;
  for (size_t index = 0; index < names.size(); ++index) {
    labels.emplace(std::move(names[index]), shorter[index]);
  }
  return labels;
}

// From the capture's own span, so that every tier has one: a recording without executions says nothing.
std::vector<std::optional<double>> busy_parts(const Capture& capture, const std::optional<int64_t>& duration_ns) {
  std::vector<std::optional<double>> parts(capture.devices.size());
  if (capture.executions.empty() || !duration_ns || *duration_ns <= 0) {
    return parts;
  }
  for (uint32_t id = 0; id < capture.devices.size(); ++id) {
    const auto busy = static_cast<double>(questions::device_executing(capture, DeviceId{id}).total());
    parts[id] = std::min(1.0, busy / static_cast<double>(*duration_ns));
  }
  return parts;
}

}  // namespace

std::function<std::string(std::string_view)> kernel_labels(const Capture& capture) {
  return [labels = std::make_shared<const Labels>(labels_of(capture))](std::string_view raw) {
    const auto found = labels->find(raw);
    return found == labels->end() ? std::string{raw} : found->second;
  };
}

Result<exporting::MetricsSource> metrics_source(Capture& capture, const std::vector<std::string>& kernels) {
  auto report = report_on(capture, {.kernels = kernels});
  if (!report) {
    return std::unexpected(report.error());
  }
  exporting::MetricsSource source;
  source.capture = &capture;
  source.duration_ns = report->facts.duration_ns;
  if (const auto& window = report->facts.window_ns) {
    // A file may say anything; 2^62 ns are 146 years.
    source.duration_ns = static_cast<int64_t>(std::clamp(window->high - window->low, 0.0, 0x1p62));
  }
  source.busy = busy_parts(capture, source.duration_ns);
  source.findings = std::move(report->findings);
  for (report::KernelSection& kernel : report->kernels) {
    source.kernels.push_back({std::move(kernel.name), std::move(kernel.findings)});
  }
  source.label = kernel_labels(capture);
  return source;
}

}  // namespace kvet::cli
