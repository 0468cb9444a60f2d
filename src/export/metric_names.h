// What the metrics are called. docs/export.md has the same tables, and a test holds one against the other.
//
// Sources: OpenTelemetry's semantic conventions for hardware (docs/hardware/gpu.md, common.md and temperature.md of
// open-telemetry/semantic-conventions), the names of DCGM's fields (dcgm_fields.h; etc/*.csv of NVIDIA/dcgm-exporter, also
// for their units), UCUM, and OpenTelemetry's rules for Prometheus names (specification/compatibility).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "export/metrics.h"

namespace kvet::exporting {

// Metrics that are no findings.
enum class Known : uint8_t {
  gpu_utilization,
  gpu_memory_limit,
  power,
  temperature,
  power_limit,
  sm_clock,
  memory_clock,
  clock_event,
  sm_active,
  sm_occupancy,
  dram_active,
  kernel_executions,
  kernel_time,
  capture_info,
  capture_duration,
  capture_complete,
  capture_lost_records,
  capture_findings,
};

struct KnownMetric {
  Known id;
  std::string_view name, unit;
  MetricKind kind;
  std::string_view dcgm;  // DCGM's field; "": it has none
  double dcgm_factor, dcgm_divisor;  // DCGM's value is ours × one ÷ the other
  std::string_view description;
};
[[nodiscard]] std::span<const KnownMetric> known_metrics();
[[nodiscard]] const KnownMetric& known_metric(Known id);

// DCGM's field of nvmlClocksEventReasons bits, which has no counterpart: one metric per bit is what others can use.
inline constexpr std::string_view dcgm_clock_event_reasons = "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS";

// How the unit of a finding becomes a base unit: divided by what leaves the fewest digits.
struct FindingUnit {
  std::string_view unit, ucum;
  double divisor;
};
[[nodiscard]] std::span<const FindingUnit> finding_units();

// UCUM's units, as Prometheus spells them at the end of a name; "": nothing is added ("{…}" says what is counted).
struct UnitSuffix {
  std::string_view ucum, suffix;
};
[[nodiscard]] std::span<const UnitSuffix> unit_suffixes();

// "hw.power" in W becomes "hw_power_watts". A unit that is not in the table adds nothing.
[[nodiscard]] std::string prometheus_metric_name(std::string_view name, std::string_view ucum, MetricKind kind);
// "hw.id" becomes "hw_id", "kvet.kernel" "kernel": the metric's name has the kvet already. DCGM's stay.
[[nodiscard]] std::string prometheus_label_name(std::string_view name);

// What a finding is called: "dram.solo.percent" in % is "kvet.dram.solo.utilization", since OpenTelemetry calls a part of a
// limit so; of "dispatch.eager.lead.p99" the statistic becomes an attribute.
struct FindingName {
  std::string name, statistic, ucum;
  double divisor = 1;
};
[[nodiscard]] FindingName finding_name(std::string_view id, std::string_view unit);

}  // namespace kvet::exporting
