// kvet import: other tools' files become one capture.
#include <filesystem>
#include <system_error>

#include "base/terminal.h"
#include "cli/commands.h"
#include "import/import.h"
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
  const std::string unfinished = options.output + ".unfinished";
  Result<void> done = write_capture(options, unfinished);
  std::error_code problem;
  if (done) {
    std::filesystem::rename(unfinished, options.output, problem);
    if (problem) {
      done = fail(ErrorKind::internal, "could not be given its name: " + problem.message(), options.output,
                  "Choose another name with -o");
    }
  }
  if (!done) {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
      std::filesystem::remove(unfinished + suffix, problem);
    }
    return report_error(done.error());
  }
  return 0;
}

}  // namespace kvet::cli
