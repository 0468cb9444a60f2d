// Metrics as plain values: built here, in one place, from what is known of a capture, and rendered by each format.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/capture.h"
#include "model/finding.h"

namespace kvet::exporting {

enum class MetricKind : uint8_t {
  gauge,
  counter,          // a sum that only grows, here: the whole recording's
  up_down_counter,  // a sum that may shrink
};

// Whose name it is. DCGM's are for Prometheus alone, where dashboards look for them; OpenTelemetry has names of its own.
enum class Vocabulary : uint8_t { opentelemetry, dcgm };

// Names are OpenTelemetry's, dotted; Prometheus' follow from them (metric_names.h). Values are raw text: renderers make them
// safe.
struct Attribute {
  std::string name, value;
  friend auto operator<=>(const Attribute&, const Attribute&) = default;
};

struct Point {
  std::vector<Attribute> attributes;
  double value = 0;  // finite
  std::optional<int64_t> time_ns;  // of the capture's clock; empty: it is about the recording as a whole
};

// No two points of one metric have the same attributes and time, no two metrics the same prometheus_name.
struct Metric {
  std::string name;  // dotted, or DCGM's
  std::string prometheus_name;
  std::string unit;  // UCUM
  std::string description;
  MetricKind kind = MetricKind::gauge;
  Vocabulary vocabulary = Vocabulary::opentelemetry;
  std::vector<Point> points;
};

struct KernelFindings {
  std::string name;  // raw
  std::vector<Finding> findings;
};

struct MetricsSource {
  const Capture* capture = nullptr;  // the part that the findings are about
  std::vector<Finding> findings;  // about the capture as a whole
  std::vector<KernelFindings> kernels;
  std::vector<std::optional<double>> busy;  // by DeviceId: part of the time in which the device ran a kernel, 0 to 1
  std::optional<int64_t> duration_ns;
  // How a kernel is called: short, and another for each. By raw name; what is not known comes back as it is.
  std::function<std::string(std::string_view)> label;
};

// NVML's readings: their mean, for formats that hold one value of a series; or each with its time.
enum class Readings : uint8_t { mean, every };

// Findings that are unavailable, and values that are not finite, give no point.
[[nodiscard]] std::vector<Metric> metrics_of(const MetricsSource& source, Readings readings);

}  // namespace kvet::exporting
