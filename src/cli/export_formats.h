// One function per format of `kvet export`, each in a file of its own.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "model/capture.h"

namespace kvet::cli {

// `output`: the file to write, "" for standard output. Files are written whole or not at all (base/output_file.h); output that
// cannot be written is an internal error, exit status 70.
Result<void> export_perfetto(const Capture& capture, const std::string& output);
Result<void> export_chrome(const Capture& capture, const std::string& output);

// Those that hold findings ask the four questions first, and cut the capture to the window that these are about. Errors are
// also those of report_on.
Result<void> export_prometheus(Capture& capture, const ExportOptions& options);
// Sends to options.endpoint, else to what OTEL_EXPORTER_OTLP_ENDPOINT says, else writes to options.output.
Result<void> export_otlp(Capture& capture, const ExportOptions& options);
Result<void> export_csv(Capture& capture, const ExportOptions& options);

}  // namespace kvet::cli
