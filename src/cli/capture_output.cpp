#include "cli/capture_output.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/output_file.h"
#include "store/file_header.h"
#include "store/writer.h"

namespace kvet::cli {
namespace {

Result<void> write_unfinished(const std::string& name, const std::function<Result<void>(EventSink&)>& fill) {
  auto writer = store::CaptureWriter::create(name);
  if (!writer) {
    return std::unexpected(writer.error());
  }
  if (auto filled = fill(**writer); !filled) {
    return filled;
  }
  return (*writer)->finish();
}

// An older capture that was not finished has left a log, which SQLite would take for the new one's.
void remove_old_log(const std::string& path) {
  std::error_code problem;
  const std::string real = std::filesystem::canonical(path, problem).string();
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    ::unlink(((problem ? path : real) + suffix).c_str());
  }
}

}  // namespace

Result<void> write_capture(const std::string& path, const std::function<Result<void>(EventSink&)>& fill) {
  if (auto room = store::check_room(path); !room) {
    return room;
  }
  UnfinishedFile unfinished(path);
  if (auto written = write_unfinished(unfinished.name(), fill); !written) {
    return std::unexpected(unfinished.named(written.error()));
  }
  if (auto published = unfinished.publish(); !published) {
    return published;
  }
  remove_old_log(path);
  return {};
}

}  // namespace kvet::cli
