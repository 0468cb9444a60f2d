// kvet export --format perfetto
#include <unistd.h>

#include "base/output_file.h"
#include "cli/export_formats.h"
#include "export/perfetto.h"
#include "questions/tracks.h"

namespace kvet::cli {

Result<void> export_perfetto(const Capture& capture, const std::string& output) {
  if (output.empty() && ::isatty(STDOUT_FILENO) == 1) {
    return fail(ErrorKind::usage, "a Perfetto trace is binary and would not do a terminal good", "standard output",
                "Give a file with -o, or a pipe");
  }
  auto file = OutputFile::create(output);
  if (!file) {
    return std::unexpected(file.error());
  }
  exporting::PerfettoWriter writer(*file);
  questions::tell_timeline(capture, writer);
  return file->finish();
}

}  // namespace kvet::cli
