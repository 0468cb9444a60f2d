#include "import/bounded_file.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/input_file.h"

namespace kvet::importing {

Result<std::string> read_bounded(const std::string& path, size_t most_bytes, const std::string& advice) {
  auto opened = open_regular_file(path);
  if (!opened) {
    return std::unexpected(opened.error());
  }
  struct stat status{};
  if (::fstat(opened->get(), &status) != 0) {
    return fail(ErrorKind::bad_input, std::strerror(errno), path);
  }
  if (static_cast<size_t>(status.st_size) > most_bytes) {
    return fail(ErrorKind::bad_input,
                fmt::format("has {} MiB, more than the {} MiB that are read", static_cast<size_t>(status.st_size) >> 20,
                            most_bytes >> 20),
                path, advice);
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(::fdopen(opened->get(), "rb"), &std::fclose);
  if (!file) {
    return fail(ErrorKind::bad_input, std::strerror(errno), path, "Check the name and the permissions");
  }
  static_cast<void>(opened->release());  // it is the stream's now
  // What grows meanwhile is read as far as it was when it was opened.
  std::string text(static_cast<size_t>(status.st_size), '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) {
    return fail(ErrorKind::bad_input, "cannot be read", path);
  }
  if (text.empty()) {
    return fail(ErrorKind::bad_input, "is empty", path);
  }
  return text;
}

}  // namespace kvet::importing
