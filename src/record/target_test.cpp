// Starting a command as its user would have.
#include "record/target.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kvet::record {
namespace {

class TargetTest : public testing::Test {
 protected:
  TargetTest() {
    std::string name = "/tmp/kvet-target-test-XXXXXX";
    folder_ = mkdtemp(name.data());
    chmod(folder_.c_str(), 0777);
  }
  ~TargetTest() override { std::filesystem::remove_all(folder_); }

  Target::Start start(std::vector<std::string> command) {
    Target::Start wanted{.command = std::move(command), .program = {}, .environment = own_environment()};
    wanted.program = find_command(wanted.command.front(), wanted.environment).value_or("");
    return wanted;
  }
  static void wait(Target& target) {
    while (!target.ended()) {
      pollfd file{target.descriptor(), POLLIN, 0};
      ASSERT_EQ(poll(&file, 1, 60'000), 1);
      target.update();
    }
  }
  int run(const Target::Start& wanted) {
    auto target = Target::prepare(wanted);
    EXPECT_TRUE(target);
    EXPECT_TRUE(target->run());
    wait(*target);
    return target->exit_code();
  }
  std::string write(const std::string& name, const std::string& text, mode_t mode) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  std::string read(const std::string& name) {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

TEST_F(TargetTest, CommandsAreFoundAsAShellFindsThem) {
  const std::string tool = write("tool", "#!/bin/sh\n", 0755);
  write("plain", "text\n", 0644);
  const Environment environment{"PATH=/nonexistent:" + folder_};
  EXPECT_EQ(find_command("tool", environment).value_or(""), tool);
  EXPECT_EQ(find_command(tool, {}).value_or(""), tool);
  for (const std::string& absent :
       {std::string("absent"), std::string("plain"), folder_ + "/absent", folder_ + "/plain", folder_, std::string()}) {
    const auto found = find_command(absent, environment);
    ASSERT_FALSE(found) << absent;
    EXPECT_EQ(found.error().exit_status(), 69) << absent;
  }
}

TEST_F(TargetTest, TheExitStatusIsAShells) {
  EXPECT_EQ(run(start({"sh", "-c", "exit 0"})), 0);
  EXPECT_EQ(run(start({"sh", "-c", "exit 77"})), 77);
  EXPECT_EQ(run(start({"sh", "-c", "kill -TERM $$"})), 128 + SIGTERM);
}

TEST_F(TargetTest, NothingRunsBeforeItIsLetTo) {
  auto target = Target::prepare(start({"sh", "-c", "echo ran > " + folder_ + "/ran"}));
  ASSERT_TRUE(target);
  EXPECT_EQ(kill(target->pid(), 0), 0);
  EXPECT_EQ(read("ran"), "");
  ASSERT_TRUE(target->run());
  wait(*target);
  EXPECT_EQ(read("ran"), "ran\n");
}

TEST_F(TargetTest, OneThatIsNeverLetRunIsGone) {
  pid_t pid = 0;
  {
    auto target = Target::prepare(start({"sh", "-c", "echo ran > " + folder_ + "/ran"}));
    ASSERT_TRUE(target);
    pid = target->pid();
  }
  EXPECT_NE(kill(pid, 0), 0);
  EXPECT_EQ(read("ran"), "");
}

TEST_F(TargetTest, ArgumentsAndEnvironmentArriveAsTheyAre) {
  Target::Start wanted =
      start({"sh", "-c", "printf '%s|' \"$@\" \"$A\" > " + folder_ + "/out", "sh", "two words", "", "quote'\"$"});
  set_variable(wanted.environment, "A", "x = y\n");
  EXPECT_EQ(run(wanted), 0);
  EXPECT_EQ(read("out"), "two words||quote'\"$|x = y\n|");
}

TEST_F(TargetTest, AScriptWithoutAnInterpreterRunsInAShell) {
  const std::string script = write("script", "exit $1\n", 0755);
  EXPECT_EQ(run(start({script, "9"})), 9);
}

TEST_F(TargetTest, AProgramOfNoMachineIsAnErrorNotAStatus) {
  const std::string broken = write("broken",
                                   std::string("\x7f"
                                               "ELF") +
                                       std::string(100, '\1'),
                                   0755);
  auto target = Target::prepare(start({broken}));
  ASSERT_TRUE(target);
  // The kernel refuses it, and so does the shell that it is then given to, as with execvp(3).
  const auto ran = target->run();
  if (ran) {
    wait(*target);
    EXPECT_NE(target->exit_code(), 0);
  } else {
    EXPECT_EQ(ran.error().exit_status(), 69);
    EXPECT_NE(ran.error().message().find("broken"), std::string::npos);
  }
}

TEST_F(TargetTest, AnInterpreterThatIsMissingIsAnError) {
  const std::string script = write("script", "#!/no/such/interpreter\n", 0755);
  auto target = Target::prepare(start({script}));
  ASSERT_TRUE(target);
  const auto ran = target->run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().exit_status(), 69);
}

TEST_F(TargetTest, ItRunsAsItsUserWithThatUsersGroups) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "needs root to become somebody else";
  }
  Target::Start wanted = start({"sh", "-c", "id -u > " + folder_ + "/out; id -G >> " + folder_ + "/out"});
  wanted.user = InvokingUser{.user = 65534, .group = 65534, .name = {}, .home = "/", .shell = "/bin/sh"};
  EXPECT_EQ(run(wanted), 0);
  EXPECT_EQ(read("out"), "65534\n65534\n");
}

TEST_F(TargetTest, OnlyWhatItIsToInheritStaysOpen) {
  const FileDescriptor kept(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const FileDescriptor closed(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Target::Start wanted = start({"sh", "-c",
                                "test -e /proc/self/fd/" + std::to_string(kept.get()) + " && test ! -e /proc/self/fd/" +
                                    std::to_string(closed.get())});
  wanted.inherited.push_back(kept.get());
  EXPECT_EQ(run(wanted), 0);
}

TEST_F(TargetTest, SignalsReachTheWholeGroup) {
  auto target = Target::prepare(start({"sh", "-c",
                                       "trap 'echo shell >> " + folder_ +
                                           "/out; exit 5' TERM; "
                                           "sh -c \"trap 'echo child >> " +
                                           folder_ + "/out; exit' TERM; echo up > " + folder_ +
                                           "/up; while :; do sleep 0.01; done\" & "
                                           "while :; do sleep 0.01; done"}));
  ASSERT_TRUE(target);
  ASSERT_TRUE(target->run());
  EXPECT_EQ(getpgid(target->pid()), target->pid());
  while (read("up") != "up\n") {
    usleep(1000);
  }
  target->forward(SIGTERM);
  wait(*target);
  EXPECT_EQ(target->exit_code(), 5);
  while (read("out").size() < sizeof "shell\nchild\n" - 1) {
    usleep(1000);
  }
}

TEST_F(TargetTest, IgnoredSignalsStayIgnored) {
  // nohup kvet record -- CMD
  const auto before = signal(SIGHUP, SIG_IGN);
  EXPECT_EQ(run(start({"sh", "-c", "kill -HUP $$; exit 4"})), 4);
  signal(SIGHUP, before);
}

// kvet record -- CMD < input > output, on a terminal.
TEST_F(TargetTest, HasTheTerminalWhereverItsInputComesFrom) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
    GTEST_SKIP() << "no pseudo-terminals here";
  }
  const std::string name = ptsname(terminal);
  const pid_t recorder = fork();
  if (recorder == 0) {
    // A session of its own; the first terminal that it opens is its controlling one.
    setsid();
    const int mine = open(name.c_str(), O_RDWR);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 0);
    auto target =
        Target::prepare(start({"sh", "-c", "read word < /dev/tty"}));  // in the background it would be stopped
    if (mine < 0 || !target || !target->run() || tcgetpgrp(mine) != target->pid()) {
      _exit(1);
    }
    [[maybe_unused]] const ssize_t written = ::write(terminal, "go\n", 3);  // as if typed
    wait(*target);
    _exit(target->exit_code() == 0 && tcgetpgrp(mine) == getpgrp() ? 0 : 2);
  }
  int status = 0;
  waitpid(recorder, &status, 0);
  close(terminal);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: not given to the command; 2: not given back";
}

TEST_F(TargetTest, ItsEndIsSeenWhereChildrenAreIgnored) {
  const auto before = signal(SIGCHLD, SIG_IGN);
  auto target = Target::prepare(start({"cp", "/proc/self/status", folder_ + "/out"}));
  ASSERT_TRUE(target);
  ASSERT_TRUE(target->run());
  pollfd file{target->descriptor(), POLLIN, 0};
  ASSERT_EQ(poll(&file, 1, 60'000), 1);
  target->update();
  ASSERT_TRUE(target->ended());
  EXPECT_EQ(target->exit_code(), 0);
  signal(SIGCHLD, before);
  // The command itself was started as it would have been.
  const std::string status = read("out"), key = "SigIgn:\t";
  const size_t at = status.find(key);
  ASSERT_NE(at, std::string::npos);
  EXPECT_NE(std::stoull(status.substr(at + key.size()), nullptr, 16) & 1ULL << (SIGCHLD - 1), 0U);
}

}  // namespace
}  // namespace kvet::record
