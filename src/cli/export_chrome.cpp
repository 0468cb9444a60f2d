// kvet export --format chrome
#include "base/output_file.h"
#include "cli/export_formats.h"
#include "export/chrome.h"
#include "questions/tracks.h"

namespace kvet::cli {

Result<void> export_chrome(const Capture& capture, const std::string& output) {
  auto file = OutputFile::create(output);
  if (!file) {
    return std::unexpected(file.error());
  }
  exporting::ChromeWriter writer(*file);
  questions::tell_timeline(capture, writer);
  writer.finish();
  return file->finish();
}

}  // namespace kvet::cli
