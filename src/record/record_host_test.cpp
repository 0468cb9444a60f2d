// Whole recordings of the host tier, with real BPF programs, of a program whose launches are known.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "abi/bpf_events.h"
#include "record/process_facts.h"
#include "record/record.h"
#include "record/testing/probe_environment.h"
#include "store/reader.h"

namespace kvet::record {
namespace {

constexpr const char* launcher = KVET_BINARY_DIR "/record_testing/launcher";

class RecordHost : public testing::Test {
 protected:
  RecordHost() {
    std::string name = "/tmp/kvet-record-test-XXXXXX";
    folder_ = mkdtemp(name.data());
    options_.output = folder_ + "/x.kvet";
    options_.tier = TierChoice::host;
    options_.counters = Counters::off;
    options_.sampler_program = "";
    options_.kvet_version = "test";
  }
  ~RecordHost() override { std::filesystem::remove_all(folder_); }

  RecordOutcome run() {
    auto outcome = record(options_);
    EXPECT_TRUE(outcome) << outcome.error().message();
    auto capture = store::read_capture(options_.output);
    EXPECT_TRUE(capture) << capture.error().message();
    if (capture) {
      capture_ = std::move(*capture);
    }
    return outcome.value_or(RecordOutcome{});
  }
  [[nodiscard]] uint64_t lost() const {
    uint64_t sum = 0;
    for (const Loss& loss : capture_.losses) {
      sum += loss.count;
    }
    return sum;
  }

  std::string folder_;
  RecordOptions options_;
  Capture capture_;
};

TEST_F(RecordHost, EveryLaunchOfAStormIsThereOnce) {
  SKIP_WITHOUT_BPF();
  // All of them fit into the ring buffer (16 MiB; 104 bytes each with its header) at once: how fast the recorder gets to
  // it on a busy machine decides nothing.
  constexpr uint64_t threads = 4, launches = 40'000;
  static_assert(threads * launches * (sizeof(struct kvet_event_launch) + 8) < 16 << 20);
  options_.command = {launcher, look_alike("cuda"), std::to_string(threads), std::to_string(launches), "0", "3"};
  EXPECT_EQ(run().exit_code, 3);
  EXPECT_TRUE(capture_.complete);
  EXPECT_EQ(capture_.fact("tier"), "host");
  EXPECT_EQ(capture_.fact("record.stop"), "exit");
  EXPECT_EQ(capture_.fact("target.exit_code"), "3");
  EXPECT_EQ(capture_.fact("check.launches_uprobe"), std::to_string(threads * launches));
  EXPECT_EQ(lost(), 0U);
  ASSERT_EQ(capture_.api_calls.size(), threads * launches);
  std::map<uint64_t, uint64_t> by_stream;
  std::map<uint64_t, std::set<int32_t>> threads_of_stream;
  int64_t last_end = 0;
  for (const ApiCall& call : capture_.api_calls) {
    ++by_stream[call.stream_handle];
    threads_of_stream[call.stream_handle].insert(call.thread_id);
    last_end = std::max(last_end, call.end_ns);
  }
  ASSERT_EQ(by_stream.size(), threads);
  for (const auto& [stream, count] : by_stream) {
    EXPECT_EQ(count, launches) << "stream " << stream;
    EXPECT_EQ(threads_of_stream[stream].size(), 1U) << "each thread launches into its own stream";
  }
  EXPECT_LE(last_end, std::stoll(std::string(capture_.fact("record.end_ns"))));
}

// Somebody else on the machine has the same library mapped: no breakpoint is ever put there.
TEST_F(RecordHost, BystandersAreNotTrapped) {
  SKIP_WITHOUT_BPF();
#if !defined(__x86_64__)
  GTEST_SKIP() << "looks for x86-64's breakpoint instruction";
#endif
  const Loaded bystander(look_alike("cuda"));
  ASSERT_TRUE(bystander.valid());
  auto* function = reinterpret_cast<volatile unsigned char*>(bystander.find<void>("cuLaunchKernel"));
  std::atomic<bool> done{false};
  std::atomic<size_t> trapped{0};
  std::thread watching([&] {
    while (!done) {
      trapped += *function == 0xcc ? 1 : 0;
      usleep(100);
    }
  });
  options_.command = {launcher, look_alike("cuda"), "1", "1000"};
  run();
  done = true;
  watching.join();
  EXPECT_EQ(capture_.api_calls.size(), 1000U);
  EXPECT_EQ(trapped, 0U);
}

TEST_F(RecordHost, ChildrenAndWhatTheyExecAreFollowed) {
  SKIP_WITHOUT_BPF();
  const std::string one = std::string(launcher) + " " + look_alike("cuda") + " 1 100";
  options_.command = {"sh", "-c", one + " & " + one + " & (exec " + one + "); wait; exit 6"};
  EXPECT_EQ(run().exit_code, 6);
  std::map<uint32_t, size_t> by_process;
  for (const ApiCall& call : capture_.api_calls) {
    ++by_process[call.process.value];
  }
  ASSERT_EQ(by_process.size(), 3U);
  for (const auto& [process, count] : by_process) {
    EXPECT_EQ(count, 100U);
    const Process& launched = capture_.processes[process];
    EXPECT_EQ(capture_.text(launched.name), "launcher");
    EXPECT_EQ(capture_.text(launched.command_line), one);
    EXPECT_EQ(launched.exit_code, 0);
    EXPECT_TRUE(launched.end_ns);
  }
}

TEST_F(RecordHost, TheTreeIsRecordedToItsEnd) {
  SKIP_WITHOUT_BPF();
  options_.command = {"sh", "-c", std::string(launcher) + " " + look_alike("cuda") + " 1 100 & exit 7"};
  EXPECT_EQ(run().exit_code, 7);
  EXPECT_EQ(capture_.api_calls.size(), 100U);
}

TEST_F(RecordHost, TheRecorderMayHoldMoreDescriptorsThanTheCommand) {
  SKIP_WITHOUT_BPF();
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{256, before.rlim_max};
  ASSERT_GT(before.rlim_max, few.rlim_cur);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  options_.command = {"sh", "-c",
                      "test $(ulimit -n) = 256 && test $(awk '/^Max open files/ {print $4}' /proc/$PPID/limits) = " +
                          std::to_string(before.rlim_max)};
  EXPECT_EQ(run().exit_code, 0);
  rlimit after{};
  getrlimit(RLIMIT_NOFILE, &after);
  EXPECT_EQ(after.rlim_cur, few.rlim_cur);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(RecordHost, SignalsThatAreTheCommandsReachItAndEndNobodyElse) {
  SKIP_WITHOUT_BPF();
  options_.command = {"sh", "-c",
                      "trap 'exit 7' USR1; kill -PIPE $PPID; kill -XFSZ $PPID; kill -USR1 $PPID; "
                      "while :; do sleep 0.01; done"};
  EXPECT_EQ(run().exit_code, 7);
  EXPECT_TRUE(capture_.complete);
  EXPECT_EQ(capture_.fact("record.stop"), "exit");
}

TEST_F(RecordHost, ADurationEndsTheRecordingAndNotTheTarget) {
  SKIP_WITHOUT_BPF();
  options_.command = {
      "sh", "-c",
      "echo $$ > " + folder_ + "/pid; exec " + std::string(launcher) + " " + look_alike("cuda") + " 1 1000000 1"};
  options_.delay_ns = 500'000'000;
  options_.duration_ns = 300'000'000;
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(capture_.fact("record.stop"), "duration");
  EXPECT_EQ(capture_.fact("target.exit_code"), "");
  const int64_t from = std::stoll(std::string(capture_.fact("record.start_ns")));
  const int64_t to = std::stoll(std::string(capture_.fact("record.end_ns")));
  EXPECT_EQ(to - from, 300'000'000);
  ASSERT_FALSE(capture_.api_calls.empty());
  for (const ApiCall& call : capture_.api_calls) {
    EXPECT_GE(call.end_ns, from);
    EXPECT_LT(call.start_ns, to);
  }
  const pid_t pid = std::atoi(read_proc_file(getpid(), "root" + folder_ + "/pid").c_str());
  EXPECT_EQ(kill(pid, 0), 0) << "the target did not survive the end of the recording";
  EXPECT_EQ(process_name(pid), "launcher");
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

TEST_F(RecordHost, ARunningProcessIsJoined) {
  SKIP_WITHOUT_BPF();
  const pid_t pid = fork();
  if (pid == 0) {
    execl(launcher, launcher, look_alike("cuda").c_str(), "2", "300", "1", nullptr);
    _exit(127);
  }
  while (process_name(pid) != "launcher") {
    usleep(1000);
  }
  // Its parent is this process, which has to take its exit for its end to be seen.
  std::thread waiting([&] { waitpid(pid, nullptr, 0); });
  options_.pid = pid;
  EXPECT_EQ(run().exit_code, 0);
  waiting.join();
  EXPECT_EQ(capture_.fact("record.stop"), "exit");
  EXPECT_EQ(capture_.api_calls.size(), 600U);  // it launches when it sees the probes
  EXPECT_EQ(lost(), 0U);
}

// The kernel counts every switch of a thread; so many intervals there must be.
TEST_F(RecordHost, OffCpuIntervalsAreAsManyAsTheKernelsOwnCount) {
  SKIP_WITHOUT_BPF();
  options_.command = {
      "sh", "-c",
      "sleep 0.05; sleep 0.05; cat /proc/$$/status > " + folder_ + "/status; echo $$ > " + folder_ + "/pid; exit 0"};
  run();
  const auto read = [&](const std::string& name) { return read_proc_file(getpid(), "root" + folder_ + "/" + name); };
  const int32_t pid = std::atoi(read("pid").c_str());
  const std::string status = read("status");
  const auto number = [&](const char* key) {
    const size_t at = status.find(key);
    return at == std::string::npos ? -1 : std::atol(status.c_str() + at + std::string_view(key).size());
  };
  const long switches = number("\nvoluntary_ctxt_switches:") + number("\nnonvoluntary_ctxt_switches:");
  ASSERT_GT(switches, 0);
  // The status was read by a child while the shell waited for it: from there on intervals are not in its count. Before,
  // the process waited to be let run, which the probes saw from some moment on.
  long intervals = 0;
  std::map<uint32_t, int64_t> slept_ns;  // by process
  for (const OffCpu& off_cpu : capture_.off_cpu) {
    EXPECT_LE(off_cpu.start_ns, off_cpu.wake_ns);
    EXPECT_LE(off_cpu.wake_ns, off_cpu.end_ns);
    intervals += off_cpu.thread_id == pid ? 1 : 0;
    if (off_cpu.reason == OffCpuReason::sleep) {
      slept_ns[off_cpu.process.value] += off_cpu.end_ns - off_cpu.start_ns;
    }
  }
  EXPECT_GE(intervals, switches - 4);
  EXPECT_LE(intervals, switches + 20);
  // The two commands that slept for 50 ms each; a millisecond is for the way into the sleep.
  ASSERT_EQ(slept_ns.size(), 2U);
  for (const auto& [process, slept] : slept_ns) {
    EXPECT_EQ(capture_.text(capture_.processes[process].name), "sleep");
    EXPECT_GE(slept, 49'000'000);
  }
}

// A cgroup of version 1 or 2 with a fifth of a CPU; the kernel's own count of how often it was held back.
class Quota {
 public:
  Quota() {
    for (const char* root : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"}) {
      folder_ = std::string(root) + "/kvet-test-" + std::to_string(getpid());
      if (std::filesystem::create_directory(folder_, ignored_) &&
          (put("cpu.cfs_quota_us", "20000") || put("cpu.max", "20000 100000"))) {
        return;
      }
      std::filesystem::remove(folder_, ignored_);
    }
    folder_.clear();
  }
  ~Quota() {
    if (!folder_.empty()) {
      rmdir(folder_.c_str());
    }
  }
  Quota(const Quota&) = delete;
  Quota& operator=(const Quota&) = delete;
  [[nodiscard]] bool works() const { return !folder_.empty(); }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] long held_back() const {
    const std::string text = read_proc_file(getpid(), "root" + folder_ + "/cpu.stat");
    const size_t at = text.find("nr_throttled ");
    return at == std::string::npos ? -1 : std::atol(text.c_str() + at + sizeof "nr_throttled");
  }

 private:
  bool put(const char* file, const char* value) {
    FILE* opened = std::fopen((folder_ + "/" + file).c_str(), "r+");
    if (opened == nullptr) {
      return false;
    }
    const bool written = std::fputs(value, opened) >= 0;
    return std::fclose(opened) == 0 && written;
  }
  std::string folder_;
  std::error_code ignored_;
};

TEST_F(RecordHost, ACgroupsQuotaIsToldFromPreemption) {
  SKIP_WITHOUT_BPF();
  const Quota quota;
  if (!quota.works()) {
    GTEST_SKIP() << "needs a cgroup hierarchy with the cpu controller that can be written to";
  }
  options_.command = {"sh", "-c",
                      "echo $$ > " + quota.folder() +
                          "/cgroup.procs; i=0; "
                          "while [ $i -lt 400000 ]; do i=$((i + 1)); done; exit 0"};
  run();
  long throttled = 0;
  for (const OffCpu& off_cpu : capture_.off_cpu) {
    throttled += off_cpu.reason == OffCpuReason::throttled ? 1 : 0;
  }
  const long held_back = quota.held_back();
  ASSERT_GE(held_back, 3) << "the command was to use up its quota several times";
  // The kernel counts periods; on more than one CPU, or around the end, one of them can be two intervals or none.
  EXPECT_GE(throttled, held_back - 2);
  EXPECT_LE(throttled, held_back + 2);
}

// A recorder in a container sees other process ids than the kernel's programs do.
TEST_F(RecordHost, ARecorderInAPidNamespaceSpeaksItsOwnIds) {
  SKIP_WITHOUT_BPF();
  options_.command = {"sh", "-c", std::string(launcher) + " " + look_alike("cuda") + " 2 100; sleep 0.05"};
  const pid_t outer = fork();
  if (outer == 0) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      _exit(77);
    }
    const pid_t inner = fork();
    if (inner == 0) {
      const bool mounted = mount("proc", "/proc", "proc", 0, nullptr) == 0;
      _exit(!mounted ? 77 : record(options_) ? 0 : 1);
    }
    int status = 0;
    waitpid(inner, &status, 0);
    _exit(WEXITSTATUS(status));
  }
  int status = 0;
  ASSERT_EQ(waitpid(outer, &status, 0), outer);
  if (WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "needs the right to make pid and mount namespaces";
  }
  ASSERT_EQ(WEXITSTATUS(status), 0);
  auto capture = store::read_capture(options_.output);
  ASSERT_TRUE(capture) << capture.error().message();
  // The namespace's first processes have its first numbers: the recorder is 1, the shell comes after it.
  std::string seen;
  for (const Process& process : capture->processes) {
    seen += fmt::format("{} of {}: {} from {} to {}; ", process.pid, process.parent_pid, capture->text(process.name),
                        process.start_ns, process.end_ns.value_or(0));
  }
  ASSERT_EQ(capture->processes.size(), 3U) << seen;
  for (const Process& process : capture->processes) {
    EXPECT_GT(process.pid, 1);
    EXPECT_LT(process.pid, 20) << "a number from outside";
  }
  EXPECT_EQ(capture->api_calls.size(), 200U);
  bool slept = false;
  for (const OffCpu& off_cpu : capture->off_cpu) {
    EXPECT_LT(off_cpu.thread_id, 20);
    slept |= off_cpu.reason == OffCpuReason::sleep && off_cpu.end_ns - off_cpu.start_ns >= 49'000'000;
  }
  EXPECT_TRUE(slept);
}

TEST_F(RecordHost, FailuresLeaveNoFile) {
  SKIP_WITHOUT_BPF();
  options_.command = {"no-such-program-anywhere"};
  auto outcome = record(options_);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().exit_status(), 69);
  options_.command.clear();
  options_.pid = 0x3fffff;
  outcome = record(options_);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().exit_status(), 69);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  options_.pid.reset();
  options_.command = {"true"};
  options_.output = folder_ + "/no/such/folder/x.kvet";
  EXPECT_FALSE(record(options_));
}

}  // namespace
}  // namespace kvet::record
