// Prometheus' text format, version 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
#pragma once

#include <string>
#include <vector>

#include "export/metrics.h"

namespace kvet::exporting {

// One value per series and no times: the server gives what it scrapes the time of the scrape. Of several points that differ
// only in their time the last counts. Label values are well-formed UTF-8 of at most 256 columns.
[[nodiscard]] std::string render_prometheus(const std::vector<Metric>& metrics);

}  // namespace kvet::exporting
