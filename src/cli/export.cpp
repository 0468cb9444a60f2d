// kvet export: a capture in the formats of other tools.
#include "base/terminal.h"
#include "base/unfinished_names.h"
#include "cli/commands.h"
#include "cli/export_formats.h"
#include "cli/output_check.h"
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
  if (options.format != ExportFormat::otlp && !(options.endpoint.empty() && options.metrics && options.traces)) {
    return report_error({ErrorKind::usage, "are for --format otlp", "--endpoint and --signals", "Leave them out"});
  }
  if (!options.kernels.empty() &&
      (options.format == ExportFormat::perfetto || options.format == ExportFormat::chrome)) {
    return report_error({ErrorKind::usage, "is for --format otlp, prometheus and csv: a timeline has all kernels",
                         "--kernel", "Leave it out"});
  }
  if (!options.endpoint.empty() && !options.output.empty()) {
    return report_error(
        {ErrorKind::usage, "send to a receiver or write to a file", "--endpoint and -o", "Give one of them"});
  }
  remove_unfinished_on_signals();
  if (auto apart = check_apart(options.output, {options.file}); !apart) {
    return report_error(apart.error());
  }
  auto capture = read_any(options.file);
  if (!capture) {
    return report_error(capture.error());
  }
  const auto done = export_as(options, *capture);
  return done ? 0 : report_error(done.error());
}

}  // namespace kvet::cli
