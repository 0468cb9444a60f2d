// kvet export: a capture in the formats of other tools.
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/export_formats.h"
#include "cli/read_any.h"

namespace kvet::cli {
namespace {

Result<void> export_as(ExportFormat format, const Capture& capture, const std::string& output) {
  switch (format) {
    case ExportFormat::perfetto: return export_perfetto(capture, output);
    case ExportFormat::chrome: return export_chrome(capture, output);
    case ExportFormat::otlp:
    case ExportFormat::prometheus:
    case ExportFormat::csv: break;
  }
  return fail(ErrorKind::internal, "is not written yet", "export");
}

}  // namespace

int run_export(const ExportOptions& options) {
  const auto capture = read_any(options.file);
  if (!capture) {
    return report_error(capture.error());
  }
  const auto done = export_as(options.format, *capture, options.output);
  return done ? 0 : report_error(done.error());
}

}  // namespace kvet::cli
