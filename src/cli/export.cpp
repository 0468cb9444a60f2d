// kvet export: a capture in the formats of other tools.
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/read_any.h"

namespace kvet::cli {

int run_export(const ExportOptions& options) {
  const auto capture = read_any(options.file);
  if (!capture) {
    return report_error(capture.error());
  }
  switch (options.format) {
    case ExportFormat::perfetto:
    case ExportFormat::chrome:
    case ExportFormat::otlp:
    case ExportFormat::prometheus:
    case ExportFormat::csv: break;
  }
  return report_error({ErrorKind::internal, "is not written yet", "export", ""});
}

}  // namespace kvet::cli
