#include "validate/process.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <thread>

#include "base/output_file.h"
#include "validate/ready.h"
#include "validate/result_files.h"
#include "validate/schedule.h"

namespace kvet::validate {
namespace {

constexpr int64_t second = 1'000'000'000, long_enough = 60 * second;

std::string temporary(const std::string& name) {
  return ::testing::TempDir() + "kvet-process-" + std::to_string(::getpid()) + name;
}

TEST(Process, RunsAShellCommandWithEnvironmentFolderAndLog) {
  Launch launch = shell("echo $WORD $(pwd); echo failed >&2; exit 3");
  launch.environment = {{"WORD", "hello world"}};
  launch.folder = "/usr";
  launch.output = temporary("log");
  auto child = ChildProcess::start(launch);
  ASSERT_TRUE(child) << child.error().message();
  EXPECT_EQ(child->wait(long_enough), 3);
  EXPECT_EQ(*read_file(launch.output), "hello world /usr\nfailed\n");
  EXPECT_EQ(tail_of(launch.output), "it printed: hello world /usr failed");
}

TEST(Process, AProgramThatIsNotThere) {
  Launch launch;
  launch.arguments = {"/nowhere/program"};
  auto child = ChildProcess::start(launch);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().exit_status(), 69);
  EXPECT_NE(child.error().message().find("/nowhere/program"), std::string::npos);
}

TEST(Process, ASignalIsAStatus) {
  auto child = ChildProcess::start(shell("kill -9 $$"));
  EXPECT_EQ(child->wait(long_enough), 128 + SIGKILL);
}

TEST(Process, UnderSudoACommandRunsAsThePersonWhoCalled) {
  const passwd* nobody = ::getpwnam("nobody");
  if (::geteuid() != 0 || nobody == nullptr) {
    GTEST_SKIP() << "needs root and a user nobody";
  }
  ::setenv("SUDO_UID", std::to_string(nobody->pw_uid).c_str(), 1);
  ::setenv("SUDO_GID", std::to_string(nobody->pw_gid).c_str(), 1);
  Launch launch = shell("id -u; id -g; echo $HOME; echo $ARM; echo \"sudo:$SUDO_UID\"");
  launch.environment = {{"ARM", "stock"}};
  launch.output = temporary("sudo");
  auto child = ChildProcess::start(launch);
  ::unsetenv("SUDO_UID");
  ::unsetenv("SUDO_GID");
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(long_enough), 0);
  EXPECT_EQ(*read_file(launch.output), std::to_string(nobody->pw_uid) + "\n" + std::to_string(nobody->pw_gid) + "\n" +
                                           nobody->pw_dir + "\nstock\nsudo:\n");
}

TEST(Process, StopEndsTheWholeGroup) {
  Launch launch = shell("sleep 1000 & echo $!; wait");
  launch.output = temporary("group");
  auto child = ChildProcess::start(launch);
  ASSERT_TRUE(child);
  std::string text;
  while (text.empty() || text.back() != '\n') {
    pause_ns(second / 100);
    text = *read_file(launch.output);
  }
  const pid_t grandchild = std::stoi(text);
  ASSERT_EQ(::kill(grandchild, 0), 0);
  child->stop(second);  // a shell makes its background jobs deaf to SIGINT: SIGTERM ends them
  EXPECT_TRUE(child->poll());
  // An orphan is reaped by whoever adopts it: it may stay a zombie for a moment.
  bool gone = false;
  for (int i = 0; i < 1000 && !gone; ++i) {
    gone = ::kill(-child->id(), 0) != 0 && errno == ESRCH;
    pause_ns(second / 100);
  }
  EXPECT_TRUE(gone);
}

TEST(Process, StopIsBoundedWhateverTheChildIgnores) {
  auto child = ChildProcess::start(shell("trap '' INT; echo; while :; do sleep 0.05; done"));
  ASSERT_TRUE(child);
  pause_ns(second / 5);
  EXPECT_FALSE(child->stop(second / 10));  // SIGTERM was enough
  EXPECT_EQ(*child->poll(), 128 + SIGTERM);
}

// A server of one answer on a free port of the loopback.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer)
      : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      int client = ::accept(listener_, nullptr, nullptr);
      char buffer[512];
      received_.assign(buffer, static_cast<size_t>(std::max<ssize_t>(0, ::recv(client, buffer, sizeof buffer, 0))));
      ::send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      ::close(client);
    });
  }
  ~OneAnswer() {
    thread_.join();
    ::close(listener_);
  }
  [[nodiscard]] ReadyUrl url() const { return {"127.0.0.1", "/health", port_}; }
  std::string received_;

 private:
  std::string answer_;
  int listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

TEST(Ready, UnderstandsTheStatusLine) {
  {
    OneAnswer server("HTTP/1.1 200 OK\r\n\r\n");
    EXPECT_EQ(ask(server.url()), Answer::ready);
  }
  {
    OneAnswer server("HTTP/1.0 503 Loading\r\n\r\n");
    EXPECT_EQ(ask(server.url()), Answer::not_ready);
  }
  {
    OneAnswer server("SSH-2.0-OpenSSH\r\n");
    EXPECT_EQ(ask(server.url()), Answer::not_ready);
  }
  {
    OneAnswer server("HTTP");
    EXPECT_EQ(ask(server.url()), Answer::not_ready);
  }
  // Port 1 of the loopback: nobody listens.
  EXPECT_EQ(ask({"127.0.0.1", "/", 1}), Answer::nothing);
}

TEST(Schedule, IsAbbaOrBaabByTheSeed) {
  const auto stages = schedule(7, 0, true);
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_EQ(stages[0].blocks.size(), 4U * 4 + 4 * 4 + 2);  // A/B, A/A, unrecorded
  EXPECT_EQ(stages[1].blocks.size(), 16U);
  EXPECT_EQ(stages[2].blocks.size(), 32U);
  EXPECT_EQ(stages[2].quads, 16U);
  std::set<std::string> names;
  uint32_t baab = 0;
  for (const Stage& stage : stages) {
    for (size_t i = 0; i < stage.blocks.size(); ++i) {
      const Block& block = stage.blocks[i];
      EXPECT_TRUE(names.insert(name(block)).second);
      if (block.kind == BlockKind::ab && block.position == 0) {
        EXPECT_EQ(stage.blocks[i + 3].arm, block.arm);
        EXPECT_EQ(stage.blocks[i + 1].arm, stage.blocks[i + 2].arm);
        EXPECT_NE(stage.blocks[i + 1].arm, block.arm);
        baab += block.arm == verdict::Arm::candidate ? 1 : 0;
      }
      if (block.kind == BlockKind::aa) {
        EXPECT_EQ(block.arm, verdict::Arm::baseline);
      }
    }
  }
  EXPECT_EQ(schedule(7, 0, true)[0].blocks, stages[0].blocks);
  // Of 16 fair draws, none or all of one kind happens for one seed in 32,768: 7 is not among them.
  EXPECT_GT(baab, 0U);
  EXPECT_LT(baab, 16U);
}

TEST(Schedule, BothOrdersAreEquallyLikely) {
  int abba = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    for (uint32_t quad = 0; quad < 16; ++quad) {
      abba += baseline_outside(seed, BlockKind::ab, quad) ? 1 : 0;
    }
  }
  // 16,000 fair draws: standard deviation 63.
  EXPECT_NEAR(abba, 8000, 4 * 63);
}

TEST(Schedule, AFixedNumberHasOneLook) {
  const auto stages = schedule(1, 6, false);
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_EQ(stages[0].blocks.size(), 6U * 4 + 2);
}

TEST(ResultFiles, AnInterruptedWriteLeavesTheOldFile) {
  const std::string path = temporary("file");
  ASSERT_TRUE(write_whole_file(path, "one"));
  ASSERT_TRUE(write_whole_file(path, "two"));
  EXPECT_EQ(*read_file(path), "two");
  EXPECT_FALSE(write_whole_file("/nowhere/at/all", "x"));
  EXPECT_FALSE(make_folder(path + "/below/a/file"));
}

}  // namespace
}  // namespace kvet::validate
