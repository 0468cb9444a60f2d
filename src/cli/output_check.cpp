#include "cli/output_check.h"

#include <sys/stat.h>

namespace kvet::cli {

Result<void> check_apart(const std::string& output, const std::vector<std::string>& inputs) {
  struct stat target{};
  if (output.empty() || ::stat(output.c_str(), &target) != 0) {
    return {};
  }
  for (const std::string& input : inputs) {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
      const std::string source = input + suffix;
      struct stat status{};
      if (::stat(source.c_str(), &status) == 0 && status.st_dev == target.st_dev && status.st_ino == target.st_ino) {
        return fail(ErrorKind::usage, "is the same file as the input " + source + ", which it would destroy", output,
                    "Choose another name with -o");
      }
    }
  }
  return {};
}

Result<void> check_result_folder(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode)) {
    return fail(ErrorKind::usage, "is there already and is not a folder", path, "Give another place with -o");
  }
  return {};
}

}  // namespace kvet::cli
