// The command that is recorded: started as its user would have started it, in a process group of its own that has the
// terminal, so that ^C and ^Z reach it and not the recorder. Nothing here ever ends it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/invoking_user.h"
#include "base/result.h"

namespace kvet::record {

// The file that a shell would run for `name`. Errors: unavailable (command not found, or not executable).
[[nodiscard]] Result<std::string> find_command(const std::string& name, const Environment& environment);

class Target {
 public:
  struct Start {
    std::vector<std::string> command;
    std::string program;  // from find_command
    Environment environment;
    std::optional<InvokingUser> user;
    std::vector<int> inherited;  // descriptors that it is to inherit
    sigset_t blocked_signals{};  // as the recorder found them; dispositions are never changed (nohup)
  };

  // Makes the process, which waits: its id can be told to the probes before it runs its first instruction.
  static Result<Target> prepare(const Start& start);
  Target(Target&& other) noexcept;
  Target& operator=(Target&&) = delete;
  ~Target();  // a target that never ran is ended; one that runs is left alone

  // Lets it run. Errors: unavailable, when the program cannot be executed after all.
  Result<void> run();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int descriptor() const { return handle_.get(); }  // readable when it has ended

  // What happened to it since the last call; never waits. A stop (^Z) is passed on: the recorder stops too, and both
  // continue together.
  void update();
  [[nodiscard]] bool ended() const { return status_.has_value(); }
  // As a shell sees it: the exit status, or 128 + the signal. Valid once ended.
  [[nodiscard]] int exit_code() const;
  [[nodiscard]] bool interrupted() const;  // ended by SIGINT

  void forward(int signal) const;  // to its process group
  // Gives the terminal back to the recorder's group.
  void release_terminal();

 private:
  Target() = default;
  void take_terminal() const;

  std::string program_;
  pid_t pid_ = -1;
  bool running_ = false;
  bool has_terminal_ = false;
  FileDescriptor terminal_;  // the controlling one, wherever our input and output go
  FileDescriptor handle_;  // pidfd
  FileDescriptor go_;      // closed or written to: it runs or gives up
  FileDescriptor failure_;  // an errno arrives here when exec fails
  std::optional<int> status_;
};

}  // namespace kvet::record
