#include "validate/result_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/file_descriptor.h"
#include "base/version.h"
#include "report/verdict_json.h"
#include "report/verdict_text.h"

namespace kvet::validate {
namespace {

std::unexpected<Error> failed(const std::string& what, const std::string& path) {
  return fail(ErrorKind::internal, what + ": " + std::strerror(errno), path,
              "free space, or give another place with -o");
}

}  // namespace

Result<void> write_atomically(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".part" + std::to_string(::getpid());
  FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid()) {
    return failed("cannot be written", path);
  }
  std::string_view rest = content;
  while (!rest.empty()) {
    ssize_t written = ::write(file.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      auto error = failed("cannot be written", path);
      ::unlink(temporary.c_str());
      return error;
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
  if (::fsync(file.get()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    auto error = failed("cannot be written", path);
    ::unlink(temporary.c_str());
    return error;
  }
  return {};
}

Result<std::string> read_file(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    return fail(ErrorKind::bad_input, std::string("cannot be read: ") + std::strerror(errno), path);
  }
  std::string content;
  char buffer[65536];
  for (;;) {
    ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return fail(ErrorKind::bad_input, std::string("cannot be read: ") + std::strerror(errno), path);
    }
    if (count == 0) {
      return content;
    }
    content.append(buffer, static_cast<size_t>(count));
  }
}

Result<void> make_folder(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    struct stat status{};
    if (::mkdir(part.c_str(), 0755) != 0 &&
        (errno != EEXIST || ::stat(part.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))) {
      return fail(ErrorKind::unavailable, std::string("the folder cannot be made: ") + std::strerror(errno), part,
                  "give another place with -o");
    }
    if (slash == std::string::npos) {
      return {};
    }
  }
}

Result<void> write_verdict(const std::string& folder, const verdict::Verdict& verdict) {
  const std::string json = report::verdict_json(verdict, version()).dump(2) + "\n";
  if (auto written = write_atomically(folder + "/verdict.json", json); !written) {
    return written;
  }
  return write_atomically(folder + "/report.txt", report::render_verdict(verdict, {100, false}));
}

}  // namespace kvet::validate
