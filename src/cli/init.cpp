// kvet init: writes a plan to fill in, and never replaces a file.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "validate/plan.h"

namespace kvet::cli {

int run_init(const InitOptions& options) {
  FileDescriptor file(::open(options.output.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid() && errno == EEXIST) {
    return report_error({ErrorKind::usage, "exists already", options.output, "give another name with -o"});
  }
  const std::string_view text = validate::plan_template;
  if (!file.valid() || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    const Error error{ErrorKind::internal, std::string("cannot be written: ") + std::strerror(errno), options.output,
                      "free space, or give another place with -o"};
    if (file.valid()) {
      ::unlink(options.output.c_str());
    }
    return report_error(error);
  }
  std::printf("%s is written: fill it in, then `kvet validate %s --dry-run`\n", options.output.c_str(),
              options.output.c_str());
  return 0;
}

}  // namespace kvet::cli
