#include "cli/row_output.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace kvet::cli {
namespace {
constexpr size_t enough_bytes = 1 << 16;
}

RowOutput::RowOutput() { std::signal(SIGPIPE, SIG_IGN); }

void RowOutput::write(std::string_view piece) {
  buffer_ += piece;
  if (buffer_.size() >= enough_bytes) {
    flush();
  }
}

void RowOutput::flush() {
  for (std::string_view rest = buffer_; !rest.empty() && !closed_ && state_;) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno != EINTR) {
      state_ = fail(ErrorKind::internal, std::string("could not be written: ") + std::strerror(errno), "the output",
                    "Free space, or give another place for it");
    }
  }
  buffer_.clear();
}

}  // namespace kvet::cli
