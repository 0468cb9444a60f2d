#include "cli/capture_output.h"

#include "base/output_file.h"
#include "store/writer.h"

namespace kvet::cli {

Result<void> write_capture(const std::string& path, const std::function<Result<void>(EventSink&)>& fill) {
  UnfinishedFile unfinished(path);
  {
    auto writer = store::CaptureWriter::create(unfinished.name());
    if (!writer) {
      return std::unexpected(writer.error());
    }
    if (auto filled = fill(**writer); !filled) {
      return filled;
    }
    if (auto finished = (*writer)->finish(); !finished) {
      return finished;
    }
  }
  return unfinished.publish();
}

}  // namespace kvet::cli
