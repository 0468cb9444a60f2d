// What the four questions say about one capture, kernel by kernel: shown by `report`, and exported as metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/capture.h"
#include "model/isolated_counters.h"
#include "report/report.h"

namespace kvet::cli {

struct CaptureQuery {
  std::vector<std::string> kernels;  // patterns; empty: the five that ran longest. Else at most 50
  // Since the beginning of the recording (meta key record.start_ns); empty: what the capture itself says.
  std::optional<std::pair<int64_t, int64_t>> window_ns;
  const IsolatedProfile* isolated = nullptr;  // counters of the kernels alone, to hold them against; may be null
};

// Cuts `capture` to the window that the findings are about. Errors are bad_input: nothing ran, or not in the window; a
// pattern that matches nothing.
Result<report::CaptureReport> report_on(Capture& capture, const CaptureQuery& query);

}  // namespace kvet::cli
