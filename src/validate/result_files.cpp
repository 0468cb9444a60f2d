#include "validate/result_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/file_descriptor.h"
#include "base/output_file.h"
#include "base/version.h"
#include "report/verdict_json.h"
#include "report/verdict_junit.h"
#include "report/verdict_markdown.h"
#include "report/verdict_sarif.h"
#include "report/verdict_text.h"
#include "verdict/level_check.h"

namespace kvet::validate {

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
      return fail(ErrorKind::internal, std::string("the folder cannot be made: ") + std::strerror(errno), part,
                  "give another place with -o");
    }
    if (slash == std::string::npos) {
      return {};
    }
  }
}

Result<void> write_verdict(const std::string& folder, const verdict::Verdict& verdict, const Gate& gate) {
  const bool passed = verdict::passes(verdict, gate.accept);
  const std::pair<const char*, std::string> files[] = {
      {"verdict.json", report::verdict_json(verdict, version()).dump(2) + "\n"},
      {"report.txt", report::render_verdict(verdict, {100, false})},
      {"verdict.md", report::verdict_markdown(verdict, passed)},
      {"junit.xml", report::verdict_junit(verdict, passed)},
      {"verdict.sarif", report::verdict_sarif(verdict, passed, gate.artifact).dump(2) + "\n"},
  };
  // All or none: they tell of the same verdict.
  std::vector<UnfinishedFile> unfinished;
  unfinished.reserve(std::size(files));
  for (const auto& [name, content] : files) {
    UnfinishedFile& file = unfinished.emplace_back(folder + "/" + name);
    if (auto good = file.check_target(); !good) {
      return good;
    }
    if (auto written = write_whole_file(file.name(), content); !written) {
      return std::unexpected(file.named(written.error()));
    }
  }
  for (UnfinishedFile& file : unfinished) {
    if (auto published = file.publish(); !published) {
      return published;
    }
  }
  return {};
}

}  // namespace kvet::validate
