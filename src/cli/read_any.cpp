#include "cli/read_any.h"

#include "import/import.h"
#include "store/memory_capture.h"
#include "store/reader.h"

namespace kvet::cli {

Result<Capture> read_any(const std::string& path) {
  const auto format = importing::detect(path);
  if (!format) {
    return store::read_capture(path);  // and its message, where it is nothing at all
  }
  store::MemoryCapture capture;
  if (auto imported = importing::import_files({path}, capture); !imported) {
    return std::unexpected(imported.error());
  }
  return std::move(capture).finish(path);
}

}  // namespace kvet::cli
