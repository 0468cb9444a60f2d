#include "record/target.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace kvet::record {

namespace {

bool is_executable_file(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0111) != 0;
}

Error not_started(const std::string& program, int error) {
  const bool rights = error == EACCES;
  return Error{ErrorKind::unavailable, std::string("cannot be executed: ") + std::strerror(error), program,
               rights ? "check its permissions and those of the folders above it"
                      : "check that it is a program of this machine"};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    list.push_back(const_cast<char*>(text.c_str()));
  }
  list.push_back(nullptr);
  return list;
}

// Everything that the child needs is made before the fork: between fork and exec only system calls are safe.
struct Child {
  const char* program;
  char* const* arguments;
  char* const* script;  // the same through a shell
  char* const* environment;
  const InvokingUser* user;
  const std::vector<gid_t>* groups;
  const std::vector<int>* inherited;
  int go, failure;
  int go_of_parent, failure_of_parent;  // the other ends: open here, they would hide that the recorder has gone
  sigset_t signals;  // blocked ones
  bool ignores_children;

  [[noreturn]] void give_up() const {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(failure, &error, sizeof error);
    _exit(127);
  }

  [[noreturn]] void run() const {
    close(go_of_parent);
    close(failure_of_parent);
    setpgid(0, 0);
    char word = 0;
    while (read(go, &word, 1) < 0 && errno == EINTR) {
    }
    if (word != 'g') {
      _exit(127);  // the recorder has gone or changed its mind
    }
    if (user != nullptr &&
        (setgroups(groups->size(), groups->data()) != 0 || setgid(user->group) != 0 || setuid(user->user) != 0)) {
      give_up();
    }
    for (const int descriptor : *inherited) {
      fcntl(descriptor, F_SETFD, 0);
    }
    if (ignores_children) {
      signal(SIGCHLD, SIG_IGN);
    }
    sigprocmask(SIG_SETMASK, &signals, nullptr);
    execve(program, arguments, environment);
    if (errno == ENOEXEC) {
      execve("/bin/sh", script, environment);  // a script without "#!", as a shell takes it
    }
    give_up();
  }
};

// Whoever ignores SIGCHLD has no children to wait for, wait(2), and would never learn how the target ended. A parent may
// have left it so (`trap "" CHLD` of a shell); the target finds it as it was.
bool stop_ignoring_children() {
  struct sigaction action{};
  if (sigaction(SIGCHLD, nullptr, &action) != 0 || action.sa_handler != SIG_IGN) {
    return false;
  }
  signal(SIGCHLD, SIG_DFL);
  return true;
}

bool make_pipe(FileDescriptor& read_end, FileDescriptor& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return false;
  }
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return true;
}

}  // namespace

Result<std::string> find_command(const std::string& name, const Environment& environment) {
  const std::string advice = "check the spelling, or give its path";
  if (name.find('/') != std::string::npos) {
    if (access(name.c_str(), F_OK) != 0) {
      return fail(ErrorKind::unavailable, "command not found", name, advice);
    }
    if (!is_executable_file(name)) {
      return fail(ErrorKind::unavailable, "is not an executable file", name, "chmod +x, or name its interpreter");
    }
    return name;
  }
  // As execvp(3) does where PATH is not set.
  const std::string_view path = variable(environment, "PATH").value_or("/bin:/usr/bin");
  for (const std::string_view folder : split(path, ':')) {
    std::string candidate = folder.empty() ? "./" + name : std::string(folder) + "/" + name;
    if (!name.empty() && is_executable_file(candidate)) {
      return candidate;
    }
  }
  return fail(ErrorKind::unavailable, "command not found", name, advice);
}

Result<Target> Target::prepare(const Start& start) {
  Target target;
  FileDescriptor go_read, failure_write;
  if (!make_pipe(go_read, target.go_) || !make_pipe(target.failure_, failure_write)) {
    return fail(ErrorKind::internal, std::string("no pipe: ") + std::strerror(errno), start.program);
  }
  const std::vector<char*> arguments = pointers(start.command);
  std::vector<std::string> shell{"sh", start.program};
  shell.insert(shell.end(), start.command.begin() + 1, start.command.end());
  const std::vector<char*> script = pointers(shell);
  const std::vector<char*> environment = pointers(start.environment);
  const std::vector<gid_t> groups = start.user ? groups_of(*start.user) : std::vector<gid_t>{};
  Child child{start.program.c_str(),
              arguments.data(),
              script.data(),
              environment.data(),
              start.user ? &*start.user : nullptr,
              &groups,
              &start.inherited,
              go_read.get(),
              failure_write.get(),
              target.go_.get(),
              target.failure_.get(),
              start.blocked_signals,
              stop_ignoring_children()};
  target.program_ = start.program;
  target.pid_ = fork();
  if (target.pid_ == 0) {
    child.run();
  }
  if (target.pid_ < 0) {
    return fail(ErrorKind::unavailable, std::string("no new process: ") + std::strerror(errno), start.program);
  }
  setpgid(target.pid_, target.pid_);  // both do it, so that it holds whoever comes first
  target.handle_.reset(static_cast<int>(syscall(SYS_pidfd_open, target.pid_, 0)));
  return target;
}

Target::Target(Target&& other) noexcept
    : program_(std::move(other.program_)),
      pid_(std::exchange(other.pid_, -1)),
      running_(other.running_),
      has_terminal_(std::exchange(other.has_terminal_, false)),
      terminal_(std::move(other.terminal_)),
      handle_(std::move(other.handle_)),
      go_(std::move(other.go_)),
      failure_(std::move(other.failure_)),
      status_(other.status_) {}

Target::~Target() {
  release_terminal();
  if (pid_ > 0 && !running_) {
    go_.reset();  // it reads the end of the pipe and ends by itself
    waitpid(pid_, nullptr, 0);
  }
}

void Target::take_terminal() const { tcsetpgrp(terminal_.get(), pid_); }

void Target::release_terminal() {
  if (std::exchange(has_terminal_, false)) {
    tcsetpgrp(terminal_.get(), getpgrp());
  }
}

Result<void> Target::run() {
  // With its input from a file a command may still ask for a password, and ^C must reach it.
  terminal_.reset(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  // A recorder that is not in the foreground does not hand out what it has not got.
  if (terminal_.valid() && tcgetpgrp(terminal_.get()) == getpgrp()) {
    // Whoever hands the terminal over is in the background from then on, and would be stopped when it takes it back.
    signal(SIGTTOU, SIG_IGN);
    has_terminal_ = true;
    take_terminal();
  }
  running_ = true;
  if (write(go_.get(), "g", 1) != 1) {
    return fail(ErrorKind::internal, "the command ended before it was to begin");
  }
  go_.reset();
  int error = 0;
  ssize_t size = 0;
  // Our copy of the write end was closed after the fork; the child's closes when exec succeeds.
  while ((size = read(failure_.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  failure_.reset();
  if (size == static_cast<ssize_t>(sizeof error)) {
    waitpid(pid_, nullptr, 0);
    release_terminal();
    return std::unexpected(not_started(program_, error));
  }
  return {};
}

void Target::update() {
  int status = 0;
  while (!status_ && waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_) {
    if (!WIFSTOPPED(status)) {
      status_ = status;
      release_terminal();
      return;
    }
    if (has_terminal_) {
      tcsetpgrp(terminal_.get(), getpgrp());
      raise(SIGSTOP);  // the shell takes over; `fg` continues here
      if (tcgetpgrp(terminal_.get()) == getpgrp()) {
        take_terminal();
      }
      forward(SIGCONT);
    }
  }
}

int Target::exit_code() const {
  const int status = status_.value_or(0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool Target::interrupted() const { return status_ && WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGINT; }

void Target::forward(int signal) const {
  if (pid_ > 0 && !status_) {
    kill(-pid_, signal);
  }
}

}  // namespace kvet::record
