// kvet export --format prometheus
#include "export/prometheus.h"

#include "base/output_file.h"
#include "cli/export_formats.h"
#include "cli/metrics_source.h"

namespace kvet::cli {

Result<void> export_prometheus(Capture& capture, const ExportOptions& options) {
  const auto source = metrics_source(capture, options.kernels);
  if (!source) {
    return std::unexpected(source.error());
  }
  return write_whole_file(options.output,
                          exporting::render_prometheus(exporting::metrics_of(*source, exporting::Readings::mean)));
}

}  // namespace kvet::cli
