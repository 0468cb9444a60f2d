// What the metric exports and the tables of findings are made from.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/metrics.h"
#include "model/capture.h"

namespace kvet::cli {

// How kernels are called in exports: short, another for each, as `report` shows them. Other texts stay as they are.
std::function<std::string(std::string_view)> kernel_labels(const Capture& capture);

// Asks the four questions, as `report` does. `capture` is cut to the window that the findings are about, and must outlive
// what comes back. Errors are those of report_on.
Result<exporting::MetricsSource> metrics_source(Capture& capture, const std::vector<std::string>& kernels);

}  // namespace kvet::cli
