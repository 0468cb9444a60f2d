// kvet export: a capture in the formats of other tools.
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/export_formats.h"
#include "cli/read_any.h"

namespace kvet::cli {
namespace {

Result<void> export_as(const ExportOptions& options, Capture& capture) {
  switch (options.format) {
    case ExportFormat::perfetto: return export_perfetto(capture, options.output);
    case ExportFormat::chrome: return export_chrome(capture, options.output);
    case ExportFormat::prometheus: return export_prometheus(capture, options);
    case ExportFormat::otlp: return export_otlp(capture, options);
    case ExportFormat::csv: return export_csv(capture, options);
  }
  return fail(ErrorKind::internal, "is not written yet", "export");
}

}  // namespace

int run_export(const ExportOptions& options) {
  auto capture = read_any(options.file);
  if (!capture) {
    return report_error(capture.error());
  }
  const auto done = export_as(options, *capture);
  return done ? 0 : report_error(done.error());
}

}  // namespace kvet::cli
