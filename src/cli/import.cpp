// kvet import: other tools' files become one capture.
#include "import/import.h"

#include "base/terminal.h"
#include "base/unfinished_names.h"
#include "cli/capture_output.h"
#include "cli/commands.h"
#include "cli/output_check.h"

namespace kvet::cli {

int run_import(const ImportOptions& options) {
  remove_unfinished_on_signals();
  if (auto apart = check_apart(options.output, options.files); !apart) {
    return report_error(apart.error());
  }
  const auto done =
      write_capture(options.output, [&](EventSink& sink) { return importing::import_files(options.files, sink); });
  return done ? 0 : report_error(done.error());
}

}  // namespace kvet::cli
