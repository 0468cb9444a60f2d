// Commands that an experiment runs: each in a process group of its own, output to a file, stopped within bounds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "validate/plan.h"

namespace kvet::validate {

struct Launch {
  std::vector<std::string> arguments;  // the first one is the program, found in PATH
  Environment environment;             // added to the environment of kvet
  std::string folder;                  // to run in; "": here
  std::string output;                  // file for stdout and stderr, replaced
  bool as_invoking_user = true;        // under sudo: give up root, as the person would run it
};
Launch shell(const std::string& command);  // /bin/sh -c command

class ChildProcess {
 public:
  // unavailable: the program is not there or may not be run.
  static Result<ChildProcess> start(const Launch& launch);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // a child that still runs is killed with its group

  // Exit status as a shell sees it (128 + signal), once it has ended.
  std::optional<int> poll();
  // Waits until it has ended; empty: the time is over, or kvet was interrupted.
  std::optional<int> wait(int64_t timeout_ns);
  // SIGINT, then SIGTERM, then SIGKILL to its group and nobody else; `patience_ns` for the first, 10 s for the second.
  // Also ends members of the group that outlive it. Says whether SIGKILL was needed.
  bool stop(int64_t patience_ns);
  [[nodiscard]] pid_t id() const { return pid_; }

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
  std::optional<int> status_;
};

// CLOCK_MONOTONIC.
int64_t now_ns();

// After this, SIGINT, SIGTERM and SIGHUP set a flag instead of ending kvet; children are in groups of their own, so that
// a ^C at the terminal reaches kvet alone.
void watch_for_interrupt();
bool interrupted();
// Sleeps, but returns at once when interrupted.
void pause_ns(int64_t duration_ns);

// The end of a log, for messages: its last lines, at most 300 bytes, on one line.
std::string tail_of(const std::string& path);

}  // namespace kvet::validate
