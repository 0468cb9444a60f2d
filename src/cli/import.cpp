// kvet import: other tools' files become one capture.
#include "import/import.h"
#include "base/output_file.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "store/writer.h"

namespace kvet::cli {
namespace {

// Beside the output, so that the rename at the end is one step: whatever fails, an older capture of that name stays.
Result<void> write_capture(const ImportOptions& options, const std::string& unfinished) {
  auto writer = store::CaptureWriter::create(unfinished);
  if (!writer) {
    return std::unexpected(writer.error());
  }
  if (auto imported = importing::import_files(options.files, **writer); !imported) {
    return imported;
  }
  return (*writer)->finish();
}

}  // namespace

int run_import(const ImportOptions& options) {
  UnfinishedFile unfinished(options.output);
  Result<void> done = write_capture(options, unfinished.name());
  if (done) {
    done = unfinished.publish();
  }
  return done ? 0 : report_error(done.error());
}

}  // namespace kvet::cli
