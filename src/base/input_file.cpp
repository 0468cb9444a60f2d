#include "base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace kvet {
namespace {

std::unexpected<Error> could_not_be_opened(const std::string& path, int problem) {
  return fail(ErrorKind::bad_input, std::string("could not be opened: ") + std::strerror(problem), path,
              "Check the name and the permissions");
}

Result<void> check_kind(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) {
    return fail(ErrorKind::bad_input, "is a folder, not a file", path, "Give a file that lies in it");
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::bad_input, "is a pipe or device, not a regular file", path,
                "Store what comes out of it in a file first");
  }
  return {};
}

}  // namespace

Result<FileDescriptor> open_regular_file(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return could_not_be_opened(path, errno);
  }
  // Before it is opened, too: opening some devices already does something.
  if (auto good = check_kind(path, status); !good) {
    return std::unexpected(good.error());
  }
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    return could_not_be_opened(path, errno);
  }
  if (auto good = check_kind(path, status); !good) {
    return std::unexpected(good.error());
  }
  return file;
}

}  // namespace kvet
