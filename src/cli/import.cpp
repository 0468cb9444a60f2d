// kvet import: other tools' files become one capture.
#include "import/import.h"

#include "base/terminal.h"
#include "cli/capture_output.h"
#include "cli/commands.h"

namespace kvet::cli {

int run_import(const ImportOptions& options) {
  const auto done =
      write_capture(options.output, [&](EventSink& sink) { return importing::import_files(options.files, sink); });
  return done ? 0 : report_error(done.error());
}

}  // namespace kvet::cli
