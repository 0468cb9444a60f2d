// Signals as something to read, so that they are handled between two steps of the recorder and never inside one.
#pragma once

#include <signal.h>

#include <optional>

#include "base/file_descriptor.h"

namespace kvet::record {

class Signals {
 public:
  // From now on SIGINT, SIGTERM, SIGQUIT, SIGCHLD, those that a command may be sent for its own purposes (SIGUSR1 and
  // SIGUSR2), those that say what the failing write says (SIGPIPE and SIGXFSZ), and SIGHUP where it is not ignored, are
  // read here.
  Signals();
  ~Signals();  // and from now on they do again what they did
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] std::optional<int> next();
  [[nodiscard]] const sigset_t& blocked_before() const { return before_; }

 private:
  sigset_t before_{};
  FileDescriptor file_;
};

}  // namespace kvet::record
