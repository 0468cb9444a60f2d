// What NVML said of each device, under OpenTelemetry's names and DCGM's.
#pragma once

#include <string>

#include "export/metric_set.h"
#include "export/metrics.h"

namespace kvet::exporting {

// "GPU-…" (of a MIG instance "MIG-…") as NVIDIA's tools write the UUID; "gpu0" where none is known.
[[nodiscard]] std::string hardware_id(const Capture& capture, DeviceId device);

void add_device_metrics(MetricSet& set, const MetricsSource& source, Readings readings);

}  // namespace kvet::exporting
