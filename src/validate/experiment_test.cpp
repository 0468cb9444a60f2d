// Whole experiments with a planted recorder: real processes, real servers, real capture files.
#include "validate/experiment.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "report/json.h"
#include "store/reader.h"
#include "validate/dry_run.h"
#include "validate/gpu_lock.h"
#include "validate/process.h"
#include "validate/ready.h"
#include "validate/result_files.h"

namespace kvet::validate {
namespace {

uint16_t free_port() {
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), length), 0);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
  ::close(socket);
  return ntohs(address.sin_port);
}

class ExperimentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static int number = 0;
    folder_ = ::testing::TempDir() + "kvet-experiment-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
    ASSERT_TRUE(make_folder(folder_));
    ::setenv("KVET_TEST_STAMP", (folder_ + "/stamp").c_str(), 1);
    settings_.folder = folder_ + "/result";
    settings_.note = [this](const std::string& line) { notes_ += line + "\n"; };
    // Tests of one machine run side by side: each has a GPU of its own.
    device_ = "test-" + std::to_string(::getpid()) + "-" + std::to_string(number);
  }
  // A program that ends by itself; the metric is 1000 or 1100.
  [[nodiscard]] Plan program_plan(const std::string& extra = "") const {
    auto plan = parse_plan("claim = 1.5\n" + extra + R"(
[workload]
run = "touch $KVET_TEST_STAMP; sleep 0.1; echo throughput: $SPEED tok/s"
metric = { regex = 'throughput: ([0-9.]+) tok/s' }
[gpu]
device = ")" + device_ + R"("
[baseline]
env = { NORM = "stock", SPEED = "1000" }
check = "true"
[candidate]
env = { NORM = "generated", SPEED = "1100" }
check = "test $NORM = generated"
)",
                           "plan.toml", folder_);
    EXPECT_TRUE(plan) << plan.error().message();
    return *plan;
  }
  [[nodiscard]] Plan server_plan() const {
    Plan plan = program_plan();
    const std::string port = std::to_string(port_);
    plan.load = plan.run;
    plan.run.reset();
    plan.server = own_path() + " serve " + port;
    plan.ready = "http://127.0.0.1:" + port + "/";
    return plan;
  }
  static std::string own_path() {
    char path[4096];
    ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    return {path, static_cast<size_t>(length)};
  }
  [[nodiscard]] std::string result(const std::string& name) const { return settings_.folder + "/" + name; }

  uint16_t port_ = free_port();
  std::string folder_, device_, notes_;
  ExperimentSettings settings_;
};

TEST_F(ExperimentTest, AProgramFromStartToAWord) {
  auto verdict = run_experiment(program_plan(), settings_);
  ASSERT_TRUE(verdict) << verdict.error().message() << notes_;
  EXPECT_EQ(verdict->word, verdict::Word::survives) << verdict->headline;
  EXPECT_FALSE(verdict->likely);
  EXPECT_NEAR(verdict->levels.at(2).estimate->ratio, 1.5, 0.005);  // 120 ÷ 80 µs; noise of the plant: 0.2%
  EXPECT_NEAR(verdict->levels.at(4).estimate->ratio, 1.1, 1e-9);
  EXPECT_EQ(verdict->looked_at, 4U);
  EXPECT_EQ(verdict->aa_quads, 4U);
  EXPECT_EQ(verdict->check, "passed");
  ASSERT_TRUE(verdict->cost.at(0).value);
  EXPECT_NEAR(*verdict->cost.at(0).value, 0, 1e-9);  // the printed figure does not change with recording
  for (const char* file :
       {"verdict.json", "report.txt", "verdict.md", "junit.xml", "verdict.sarif", "plan.toml", "blocks.json",
        "captures/ab-03-3-baseline.kvet", "captures/aa-00-0-baseline.kvet", "logs/check-candidate.log"}) {
    const bool either = std::string(file).find("ab-03-3") != std::string::npos &&
                        ::access(result("captures/ab-03-3-candidate.kvet").c_str(), R_OK) == 0;
    EXPECT_TRUE(either || ::access(result(file).c_str(), R_OK) == 0) << file;
  }
  EXPECT_NE(notes_.find("so far: the kernel set is 1.5"), std::string::npos) << notes_;
  // Captures say what they are, so that `kvet compare` comes to the same word without the folder.
  auto capture = store::read_capture(result("captures/aa-00-0-baseline.kvet"));
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->fact("experiment.kind"), "aa");
  EXPECT_EQ(capture->fact("experiment.claim"), "1.5");
  EXPECT_EQ(capture->fact("experiment.metric"), "1000");
  EXPECT_EQ(capture->fact("experiment.check"), "passed");
}

TEST_F(ExperimentTest, AServerUnderLoad) {
  settings_.quads = 1;
  settings_.no_aa = true;
  auto verdict = run_experiment(server_plan(), settings_);
  ASSERT_TRUE(verdict) << verdict.error().message() << notes_;
  EXPECT_TRUE(verdict->likely || verdict->word == verdict::Word::inconclusive);  // one quad is not enough to pass
  EXPECT_NEAR(verdict->levels.at(2).estimate->ratio, 1.5, 0.005);
  // The server is gone, and its port is free.
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port_);
  EXPECT_NE(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(socket);
}

TEST_F(ExperimentTest, AFailedCheckIsInvalidBeforeAnythingRuns) {
  Plan plan = program_plan();
  plan.candidate.check = "echo row 7 differs; exit 1";
  auto verdict = run_experiment(plan, settings_);
  ASSERT_TRUE(verdict) << verdict.error().message();
  EXPECT_EQ(verdict->word, verdict::Word::invalid);
  EXPECT_NE(verdict->headline.find("row 7 differs"), std::string::npos) << verdict->headline;
  auto json = report::Json::parse(*read_file(result("verdict.json")), "verdict.json");
  EXPECT_EQ((*json)["exit_status"].integer(), 13);
  EXPECT_NE(::access((folder_ + "/stamp").c_str(), F_OK), 0);  // no block ran
}

TEST_F(ExperimentTest, ACheckThatIsNotThereIsNoVerdict) {
  Plan plan = program_plan();
  plan.candidate.check = "/nowhere/check";
  auto verdict = run_experiment(plan, settings_);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().exit_status(), 69);
}

TEST_F(ExperimentTest, FailuresNameTheThingAndShowItsLastWords) {
  settings_.no_aa = true;
  auto message_of = [&](const Plan& plan, int status) {
    static int number = 0;
    settings_.folder = folder_ + "/failed" + std::to_string(++number);
    auto verdict = run_experiment(plan, settings_);
    EXPECT_FALSE(verdict);
    EXPECT_EQ(verdict.error().exit_status(), status);
    EXPECT_NE(::access(result("verdict.json").c_str(), F_OK), 0);  // no half result
    return verdict.error().message();
  };
  Plan plan = server_plan();
  plan.server = "echo no such model >&2; exit 4";
  std::string message = message_of(plan, 69);
  EXPECT_NE(message.find("the server ended with status 4 before it was ready"), std::string::npos) << message;
  EXPECT_NE(message.find("no such model"), std::string::npos) << message;

  plan = server_plan();
  plan.load = "echo connection refused; exit 1";
  message = message_of(plan, 69);
  EXPECT_NE(message.find("load: failed with status 1. it printed: connection refused"), std::string::npos) << message;

  plan = server_plan();
  plan.ready_timeout_ns = 300'000'000;
  plan.server = "sleep 1000";
  message = message_of(plan, 69);
  EXPECT_NE(message.find("did not answer"), std::string::npos) << message;

  plan = program_plan();
  plan.run = "echo nothing here";
  message = message_of(plan, 65);
  EXPECT_NE(message.find("no line matches metric"), std::string::npos) << message;
}

TEST_F(ExperimentTest, APortThatIsTakenIsNotMeasured) {
  auto other = ChildProcess::start(shell("exec " + own_path() + " serve " + std::to_string(port_)));
  ASSERT_TRUE(other);
  while (ask({"127.0.0.1", "/", port_}) != Answer::ready) {
    ASSERT_FALSE(other->poll());
    pause_ns(10'000'000);
  }
  auto verdict = run_experiment(server_plan(), settings_);
  ASSERT_FALSE(verdict);
  EXPECT_NE(verdict.error().message().find("something answers there"), std::string::npos) << verdict.error().message();
}

TEST_F(ExperimentTest, AnInterruptedRunGoesOn) {
  Plan plan = program_plan();
  settings_.quads = 1;
  settings_.no_aa = true;
  pid_t pid = ::fork();
  if (pid == 0) {
    watch_for_interrupt();
    auto verdict = run_experiment(plan, settings_);
    ::_exit(verdict ? 0 : verdict.error().exit_status());
  }
  // Interrupt it in the middle of a block, once two are finished.
  size_t finished = 0;
  int status = 0;
  while (finished < 2 && ::waitpid(pid, &status, WNOHANG) == 0) {
    pause_ns(5'000'000);
    auto journal = load_journal(settings_.folder);
    finished = journal ? journal->blocks.size() : 0;
  }
  ::kill(pid, SIGINT);
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 75);
  auto before = load_journal(settings_.folder);
  ASSERT_TRUE(before);
  ASSERT_GE(before->blocks.size(), 2U);
  ASSERT_LT(before->blocks.size(), 6U);

  auto again = run_experiment(plan, settings_);
  ASSERT_FALSE(again);  // not without --resume
  EXPECT_EQ(again.error().exit_status(), 64);
  settings_.resume = true;
  Plan other = plan;
  other.text += "# changed\n";
  auto mixed = run_experiment(other, settings_);
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().exit_status(), 64);

  auto verdict = run_experiment(plan, settings_);
  ASSERT_TRUE(verdict) << verdict.error().message();
  auto after = load_journal(settings_.folder);
  EXPECT_EQ(after->blocks.size(), 6U);
  for (const BlockResult& block : before->blocks) {
    EXPECT_EQ(after->find(block.block)->load_from_ns, block.load_from_ns);  // not run again
  }
}

TEST_F(ExperimentTest, TwoAtOnceOnOneGpu) {
  auto lock = lock_gpu(device_);
  ASSERT_TRUE(lock);
  auto verdict = run_experiment(program_plan(), settings_);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().exit_status(), 69);
  EXPECT_NE(verdict.error().message().find("process " + std::to_string(::getpid())), std::string::npos)
      << verdict.error().message();
}

TEST_F(ExperimentTest, IsolatedRunsAreLevelOne) {
  Plan plan = program_plan();
  settings_.quads = 1;
  settings_.no_aa = true;
  plan.isolated = IsolatedPlan{"if [ $NORM = stock ]; then echo time: 14 us; else echo time: 10 us; fi",
                               {},
                               {},
                               {"time: ([0-9.]+) us", false},
                               3};
  auto verdict = run_experiment(plan, settings_);
  ASSERT_TRUE(verdict) << verdict.error().message();
  EXPECT_NEAR(verdict->levels.at(0).estimate->ratio, 1.4, 1e-9);
  EXPECT_EQ(verdict->levels.at(0).estimate->units, 3U);
  EXPECT_NEAR(*verdict->reproduced, std::log(1.4) / std::log(1.5), 1e-9);
  EXPECT_NEAR(*verdict->kept, std::log(verdict->levels.at(2).estimate->ratio) / std::log(1.4), 1e-9);
}

TEST_F(ExperimentTest, TheTimeLimitEndsBetweenQuads) {
  Plan plan = program_plan();
  settings_.max_time_ns = 1;  // over at once: the first block runs, then the first quad is ended
  settings_.no_aa = true;
  auto verdict = run_experiment(plan, settings_);
  ASSERT_TRUE(verdict) << verdict.error().message();
  auto journal = load_journal(settings_.folder);
  EXPECT_LE(journal->blocks.size(), 6U);
  EXPECT_TRUE(verdict->likely || verdict->word == verdict::Word::inconclusive);
}

TEST_F(ExperimentTest, DryRunStartsNothing) {
  Plan plan = program_plan();
  plan.candidate.check = "nonexistent-program --check";
  const DryRun dry = dry_run(plan, settings_);
  EXPECT_FALSE(dry.good());
  std::string text;
  for (const DryRunLine& line : dry.lines) {
    text += (line.good ? "ok " : "not ") + line.subject + ": " + line.text + "\n";
  }
  EXPECT_NE(text.find("not check: nonexistent-program is not found"), std::string::npos) << text;
  EXPECT_NE(text.find("ok run: "), std::string::npos) << text;
  EXPECT_NE(text.find("ok claim: 1.5: SURVIVES from 1.383 on"), std::string::npos) << text;  // 1.5^0.8 = 1.3832
  EXPECT_NE(text.find("34 blocks to the first look, at most 82"), std::string::npos) << text;
  EXPECT_NE(::access(settings_.folder.c_str(), F_OK), 0);
  EXPECT_NE(::access((folder_ + "/stamp").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace kvet::validate
