#include "validate/process.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/file_descriptor.h"
#include "base/invoking_user.h"
#include "base/text.h"
#include "validate/result_files.h"

namespace kvet::validate {
namespace {

volatile sig_atomic_t interrupt_flag = 0;
void on_interrupt(int) { interrupt_flag = 1; }

constexpr int64_t poll_interval_ns = 20'000'000;
constexpr int64_t term_patience_ns = 10'000'000'000;

// Everything the child needs, laid out before the fork: no allocation between fork and exec.
struct Prepared {
  std::vector<char*> arguments, environment;
  kvet::Environment variables;
  FileDescriptor output, input;
  std::optional<InvokingUser> user;  // to become
  std::vector<gid_t> groups;
};

void prepare(const Launch& launch, Prepared& prepared) {
  for (const std::string& argument : launch.arguments) {
    prepared.arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  prepared.arguments.push_back(nullptr);
  // Under sudo a command sees what the person who called it sees, as the recorded ones do.
  if (launch.as_invoking_user) {
    prepared.user = invoking_user();
  }
  if (prepared.user) {
    prepared.groups = groups_of(*prepared.user);
  }
  prepared.variables = prepared.user ? kvet::environment_of(*prepared.user) : own_environment();
  for (const auto& [name, value] : launch.environment) {
    set_variable(prepared.variables, name, value);
  }
  for (std::string& variable : prepared.variables) {
    prepared.environment.push_back(variable.data());
  }
  prepared.environment.push_back(nullptr);
}

[[noreturn]] void run_child(const Launch& launch, const Prepared& prepared, int report) {
  ::setpgid(0, 0);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(prepared.input.get(), STDIN_FILENO);
  ::dup2(prepared.output.get(), STDOUT_FILENO);
  ::dup2(prepared.output.get(), STDERR_FILENO);
  bool good = launch.folder.empty() || ::chdir(launch.folder.c_str()) == 0;
  if (good && prepared.user) {
    good = ::setgroups(prepared.groups.size(), prepared.groups.data()) == 0 && ::setgid(prepared.user->group) == 0 &&
           ::setuid(prepared.user->user) == 0;
  }
  // Should kvet be killed, nothing it started stays behind. Changing the user would clear this.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (good) {
    ::execvpe(prepared.arguments.front(), prepared.arguments.data(), prepared.environment.data());
  }
  int code = errno;
  [[maybe_unused]] ssize_t written = ::write(report, &code, sizeof code);
  ::_exit(127);
}

}  // namespace

Launch shell(const std::string& command) {
  Launch launch;
  launch.arguments = {"/bin/sh", "-c", command};
  return launch;
}

int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void watch_for_interrupt() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;  // no SA_RESTART: sleeps end at once
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    ::sigaction(signal, &action, nullptr);
  }
}

bool interrupted() { return interrupt_flag != 0; }

void pause_ns(int64_t duration_ns) {
  timespec time{duration_ns / 1'000'000'000, duration_ns % 1'000'000'000};
  ::nanosleep(&time, nullptr);
}

Result<ChildProcess> ChildProcess::start(const Launch& launch) {
  auto failed = [&](const std::string& what, const std::string& subject, int code) {
    return fail(ErrorKind::unavailable, what + ": " + std::strerror(code), subject);
  };
  Prepared prepared;
  prepare(launch, prepared);
  prepared.input.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string output = launch.output.empty() ? "/dev/null" : launch.output;
  prepared.output.reset(::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  int pipe_ends[2];
  if (!prepared.output.valid() || ::pipe2(pipe_ends, O_CLOEXEC) != 0) {
    return failed("cannot be written", output, errno);
  }
  FileDescriptor read_end(pipe_ends[0]), write_end(pipe_ends[1]);
  pid_t pid = ::fork();
  if (pid < 0) {
    return failed("no process can be made", launch.arguments.front(), errno);
  }
  if (pid == 0) {
    run_child(launch, prepared, write_end.get());
  }
  ::setpgid(pid, pid);  // whoever comes first
  write_end.reset();
  int code = 0;
  ssize_t got = 0;
  do {
    got = ::read(read_end.get(), &code, sizeof code);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof code) {
    ::waitpid(pid, nullptr, 0);
    return failed("cannot be started", launch.arguments.front(), code);
  }
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(std::exchange(other.status_, std::nullopt)) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !poll()) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

std::optional<int> ChildProcess::poll() {
  int status = 0;
  if (!status_ && pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return status_;
}

std::optional<int> ChildProcess::wait(int64_t timeout_ns) {
  const int64_t deadline = now_ns() + timeout_ns;
  while (!poll() && now_ns() < deadline && !interrupted()) {
    pause_ns(poll_interval_ns);
  }
  return status_;
}

bool ChildProcess::stop(int64_t patience_ns) {
  // An interrupt must not cut this short: the capture is being finished.
  auto gone_within = [&](int64_t time) {
    const int64_t deadline = now_ns() + time;
    while (now_ns() < deadline) {
      poll();
      if (status_ && ::kill(-pid_, 0) != 0) {
        return true;
      }
      pause_ns(poll_interval_ns);
    }
    return false;
  };
  for (auto [signal, patience] : {std::pair{SIGINT, patience_ns}, {SIGTERM, term_patience_ns}}) {
    ::kill(-pid_, signal);
    if (gone_within(patience)) {
      return false;
    }
  }
  ::kill(-pid_, SIGKILL);
  gone_within(term_patience_ns);
  return true;
}

std::string tail_of(const std::string& path) {
  auto content = read_file(path);
  if (!content || trimmed(*content).empty()) {
    return "it printed nothing";
  }
  std::string_view text = trimmed(*content);
  text = text.substr(text.size() > 300 ? text.size() - 300 : 0);
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return "it printed: " + printable(line);
}

}  // namespace kvet::validate
