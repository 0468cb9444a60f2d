// The injected library in a whole process, on the stand-in for CUDA, read through the memory file: no privileges needed.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "probes/activity/decode.h"
#include "probes/activity/memory_ring.h"
#include "probes/activity/test_sink.h"

namespace kvet::probes {
namespace {

constexpr const char* target_path = KVET_BINARY_DIR "/src/inject/session_target";
constexpr const char* library_path = KVET_BINARY_DIR "/bin/libkvet_inject.so";
constexpr const char* stand_in_path = KVET_BINARY_DIR "/simcuda/lib";

using Variables = std::map<std::string, std::string>;

// One run of the target, recorded to its end.
class InjectedTest : public testing::Test {
 protected:
  void SetUp() override {
    auto ring = MemoryRing::create();
    ASSERT_TRUE(ring.has_value()) << ring.error().message();
    ring_ = std::make_unique<MemoryRing>(std::move(*ring));
    variables_ = {{"CUDA_INJECTION64_PATH", library_path},
                  {"LD_LIBRARY_PATH", stand_in_path},
                  {"KVET_SIMCUDA_DEVICE", testing::TempDir() + "kvet-injected-test-" + std::to_string(getpid())},
                  {"KVET_MEMORY_FD", std::to_string(ring_->descriptor())},
                  {"KVET_MEMORY_PATH", ring_->path()}};
  }
  void TearDown() override { unlink(variables_["KVET_SIMCUDA_DEVICE"].c_str()); }
  void start(const std::string& mode, int launches) {
    int in[2], out[2];
    ASSERT_EQ(pipe(in), 0);
    ASSERT_EQ(pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      for (const int descriptor : {in[0], in[1], out[0], out[1]}) {
        close(descriptor);
      }
      if (close_descriptors_) {
        for (int descriptor = 3; descriptor < 256; ++descriptor) {
          close(descriptor);
        }
      }
      alarm(limit_s_);  // outlives exec
      for (const auto& [name, value] : variables_) {
        setenv(name.c_str(), value.c_str(), 1);
      }
      execl(target_path, target_path, mode.c_str(), std::to_string(launches).c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    output_ = fdopen(out[0], "r");
  }
  std::string line() {
    char text[256] = "";
    return fgets(text, sizeof(text), output_) == nullptr ? "" : text;
  }
  // Reads until the target has ended; its status as wait(2) gives it.
  int finish() {
    if (input_ >= 0) {
      close(input_);
      input_ = -1;
    }
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      take(false);
      usleep(2000);
    }
    take(true);
    fclose(output_);
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    ended_ns_ = now.tv_sec * 1'000'000'000 + now.tv_nsec;
    for (const auto& [pid, process] : processes_) {
      decoder_.finish(process, ended_ns_);
    }
    decoder_.finish_all();
    return status;
  }
  void take(bool at_end) {
    const auto handler = [&](const kvet_batch_header& header, std::span<const kvet_record> records) {
      const auto [found, is_new] =
          processes_.try_emplace(header.target_pid, ProcessId{static_cast<uint32_t>(processes_.size())});
      if (is_new) {
        auto table = ring_->table(header);
        ASSERT_TRUE(table.has_value()) << table.error().message();
        decoder_.set_table(found->second, std::move(*table));
      }
      decoder_.decode(found->second, header, records);
    };
    if (at_end) {
      while (ring_->drain(handler) > 0) {
      }
    } else {
      ring_->poll(handler);
    }
  }
  kvet_table table_header() {
    auto table = Table::in_memory_file(ring_->descriptor(), first_table());
    EXPECT_TRUE(table.has_value());
    return table.has_value() ? *table->header() : kvet_table{};
  }
  uint64_t first_table() const {
    kvet_memory_header header{};
    EXPECT_EQ(pread(ring_->descriptor(), &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
    return header.tables_offset;
  }
  // Every launch has one execution that carries its correlation id and starts no earlier than the call, and vice versa.
  void expect_joined(size_t launches) {
    std::map<std::pair<uint32_t, uint32_t>, const ApiCall*> calls;
    for (const ApiCall& call : sink_.api_calls) {
      if (call.kind == ApiKind::launch_kernel) {
        EXPECT_FALSE(call.captured);
        EXPECT_TRUE(calls.try_emplace({call.process.value, call.correlation_id}, &call).second);
      }
    }
    EXPECT_EQ(calls.size(), launches);
    EXPECT_EQ(sink_.executions.size(), launches);
    for (const Execution& execution : sink_.executions) {
      const auto call = calls.find({execution.process.value, execution.correlation_id});
      ASSERT_NE(call, calls.end());
      EXPECT_GE(execution.start_ns, call->second->start_ns);
      const KernelShape& shape = sink_.shapes.at(execution.shape.value);
      EXPECT_EQ(sink_.strings.at(shape.name.value), "_Z6kernelPf");
      EXPECT_EQ(shape.grid, (std::array<uint32_t, 3>{8, 1, 1}));
      EXPECT_EQ(shape.block, (std::array<uint32_t, 3>{64, 1, 1}));
      EXPECT_EQ(shape.registers_per_thread, 32u);
      calls.erase(call);
    }
  }

  // That the target had no time for its exit handlers is said, with the time since which records may be missing: after the
  // last execution, which is over a second older than the target's end.
  void expect_told_end() {
    ASSERT_EQ(sink_.losses.size(), 1u);
    const Loss& loss = sink_.losses.front();
    EXPECT_EQ(loss.kind, LossKind::ended_without_exit_handlers);
    ASSERT_TRUE(loss.first_ns && loss.last_ns);
    EXPECT_EQ(loss.last_ns, ended_ns_);
    EXPECT_LT(*loss.first_ns, ended_ns_);
    for (const Execution& execution : sink_.executions) {
      EXPECT_LT(execution.end_ns, *loss.first_ns);
    }
  }

  Variables variables_;
  bool close_descriptors_ = false;
  int64_t ended_ns_ = 0;
  unsigned limit_s_ = 0;  // then SIGALRM ends the target; 0: never
  std::unique_ptr<MemoryRing> ring_;
  pid_t pid_ = -1;
  int input_ = -1;
  FILE* output_ = nullptr;
  std::map<uint32_t, ProcessId> processes_;
  TestSink sink_;
  DeviceDirectory devices_;
  ActivityDecoder decoder_{sink_, devices_, {}};
};

TEST_F(InjectedTest, EveryLaunchAndItsExecution) {
  start("run", 3000);
  EXPECT_EQ(finish(), 0);
  expect_joined(3000);
  EXPECT_TRUE(sink_.losses.empty());
  EXPECT_TRUE(decoder_.totals().said_goodbye);
  EXPECT_EQ(table_header().status, static_cast<uint32_t>(KVET_INJECT_RECORDING));
  EXPECT_EQ(table_header().finished, 1u);
  // The synchronisation is there as well, from the thread that called it.
  size_t waits = 0;
  for (const ApiCall& call : sink_.api_calls) {
    waits += call.kind == ApiKind::synchronize_stream ? 1 : 0;
    EXPECT_EQ(call.thread_id, pid_);
  }
  EXPECT_EQ(waits, 1u);
}

TEST_F(InjectedTest, ThreadsKeepTheirIds) {
  start("threads", 4000);
  EXPECT_EQ(finish(), 0);
  expect_joined(4000);
  std::map<int32_t, int> by_thread;
  for (const ApiCall& call : sink_.api_calls) {
    by_thread[call.thread_id] += call.kind == ApiKind::launch_kernel ? 1 : 0;
  }
  ASSERT_EQ(by_thread.size(), 4u);
  for (const auto& [thread, launches] : by_thread) {
    EXPECT_EQ(launches, 1000);
    EXPECT_NE(thread, pid_);
  }
}

TEST_F(InjectedTest, ALauncherThatClosesDescriptorsIsReachedByPath) {
  close_descriptors_ = true;
  start("run", 100);
  EXPECT_EQ(finish(), 0);
  expect_joined(100);
}

TEST_F(InjectedTest, AKilledTargetLosesNothingThatIsOlderThanAFlush) {
  start("kill", 500);
  const int status = finish();
  EXPECT_TRUE(WIFSIGNALED(status));
  expect_joined(500);
  EXPECT_FALSE(decoder_.totals().said_goodbye);
  EXPECT_EQ(table_header().finished, 0u);
  expect_told_end();
}

TEST_F(InjectedTest, ATargetThatLeavesWithoutExitHandlers) {
  start("_exit", 500);
  EXPECT_EQ(finish(), 0);
  expect_joined(500);
  expect_told_end();
}

TEST_F(InjectedTest, AForkedChildIsQuietAndItsParentGoesOn) {
  start("fork", 200);
  EXPECT_EQ(finish(), 0) << "the child ended as it wanted to, and so did the parent";
  expect_joined(400);
  EXPECT_EQ(processes_.size(), 1u) << "nothing came from the child";
  EXPECT_TRUE(decoder_.totals().said_goodbye);
}

TEST_F(InjectedTest, AForkedChildShowsATableThatSaysSo) {
  // Without a memory file the table is a memfd of the process's own, found through /proc.
  variables_.erase("KVET_MEMORY_FD");
  variables_.erase("KVET_MEMORY_PATH");
  start("fork", 10);
  int child = 0;
  const std::string said = line();
  ASSERT_EQ(sscanf(said.c_str(), "child %d", &child), 1) << said;
  auto parents = Table::open(pid_);
  auto childs = Table::open(child);
  if (!parents && parents.error().kind == ErrorKind::unavailable && geteuid() != 0) {
    finish();
    GTEST_SKIP() << "reading another process's mappings is not allowed here";
  }
  ASSERT_TRUE(parents.has_value()) << parents.error().message();
  ASSERT_TRUE(childs.has_value()) << childs.error().message();
  EXPECT_FALSE(parents->same_as(*childs)) << "the parent's table is not mapped in the child";
  EXPECT_EQ(parents->header()->target_pid, static_cast<uint32_t>(pid_));
  EXPECT_EQ(childs->header()->target_pid, static_cast<uint32_t>(child));
  EXPECT_EQ(childs->header()->status, static_cast<uint32_t>(KVET_INJECT_FORKED));
  EXPECT_EQ(childs->header()->used, 0u);
  EXPECT_EQ(finish(), 0);
  EXPECT_EQ(parents->header()->finished, 1u) << "readable after its process has gone";
}

TEST_F(InjectedTest, AChildForkedBeforeCudaRecordsForItself) {
  start("early", 300);
  EXPECT_EQ(finish(), 0);
  EXPECT_EQ(processes_.size(), 2u);
  expect_joined(600);
  EXPECT_TRUE(decoder_.totals().said_goodbye);
}

TEST_F(InjectedTest, CuptiHeldByAnotherProfilerLeavesTheTargetAlone) {
  variables_["KVET_SIMCUDA_CUPTI"] = "held";
  start("run", 100);
  EXPECT_EQ(finish(), 0);
  EXPECT_EQ(table_header().status, static_cast<uint32_t>(KVET_INJECT_CUPTI_HELD));
  EXPECT_EQ(table_header().status_code, 39u);
  EXPECT_TRUE(sink_.executions.empty());
}

TEST_F(InjectedTest, AFlushThatNeverReturnsDoesNotKeepTheTargetFromEnding) {
  variables_["KVET_SIMCUDA_CUPTI"] = "stuck";
  variables_["KVET_FLUSH_MS"] = "1";
  limit_s_ = 60;
  start("late", 100);
  EXPECT_EQ(finish(), 0);
  EXPECT_TRUE(decoder_.totals().said_goodbye);
  ASSERT_EQ(sink_.losses.size(), 1u) << "what CUPTI kept is not passed over in silence";
  EXPECT_EQ(sink_.losses.front().kind, LossKind::cupti_dropped);
}

TEST_F(InjectedTest, ALastFlushThatNeverReturnsDoesNotKeepTheTargetFromEnding) {
  variables_["KVET_SIMCUDA_CUPTI"] = "stuck";
  variables_["KVET_FLUSH_MS"] = "10000";  // so that no other flush comes before it
  limit_s_ = 30;
  start("run", 100);
  EXPECT_EQ(finish(), 0);
  EXPECT_TRUE(decoder_.totals().said_goodbye);
  ASSERT_EQ(sink_.losses.size(), 1u) << "what CUPTI kept is not passed over in silence";
  EXPECT_EQ(sink_.losses.front().kind, LossKind::cupti_dropped);
}

TEST_F(InjectedTest, AskingForNoFlushesGivesALastOneAllTheSame) {
  variables_["KVET_FLUSH_MS"] = "0";
  limit_s_ = 30;
  start("run", 100);
  EXPECT_EQ(finish(), 0);
  expect_joined(100);
  EXPECT_TRUE(sink_.losses.empty());
}

TEST_F(InjectedTest, AnExitOutOfASignalHandlerInsideCuptiEndsTheTarget) {
  variables_["KVET_SIMCUDA_CUPTI"] = "interrupted";
  limit_s_ = 30;
  start("signal", 100);
  EXPECT_EQ(finish(), 0);
  EXPECT_TRUE(decoder_.totals().said_goodbye);
  ASSERT_EQ(sink_.losses.size(), 1u) << "what CUPTI kept is not passed over in silence";
  EXPECT_EQ(sink_.losses.front().kind, LossKind::cupti_dropped);
}

TEST_F(InjectedTest, AReaderThatIsGoneGivesTheTargetItsSpeedBack) {
  variables_["KVET_READER_PATIENCE_MS"] = "300";
  variables_["KVET_FLUSH_MS"] = "10";
  limit_s_ = 60;
  start("pulse", 1);
  while (sink_.executions.empty()) {
    take(false);
    usleep(2000);
  }
  // Nobody reads from here on.
  const auto wait_for = [&](uint32_t status) {
    for (int waited = 0; table_header().status != status && waited < 20'000; waited += 10) {
      usleep(10'000);
    }
    return table_header().status;
  };
  ASSERT_EQ(wait_for(KVET_INJECT_READER_GONE), static_cast<uint32_t>(KVET_INJECT_READER_GONE));
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t given_up_ns = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  usleep(300'000);
  EXPECT_EQ(finish(), 0);
  for (const ApiCall& call : sink_.api_calls) {
    EXPECT_LT(call.start_ns, given_up_ns) << "CUPTI still records";
  }
  for (const Execution& execution : sink_.executions) {
    EXPECT_LT(execution.start_ns, given_up_ns) << "CUPTI still records";
  }
}

TEST_F(InjectedTest, AReaderThatReadsKeepsTheRecordingAlive) {
  variables_["KVET_READER_PATIENCE_MS"] = "300";
  variables_["KVET_FLUSH_MS"] = "10";
  limit_s_ = 60;
  start("pulse", 1);
  for (int waited = 0; waited < 1'500; waited += 2) {
    take(false);
    usleep(2000);
  }
  EXPECT_EQ(table_header().status, static_cast<uint32_t>(KVET_INJECT_RECORDING));
  EXPECT_EQ(finish(), 0);
  EXPECT_TRUE(sink_.losses.empty());
  EXPECT_TRUE(decoder_.totals().said_goodbye);
}

TEST_F(InjectedTest, WithoutAReaderFromTheStartCuptiIsSwitchedOffToo) {
  variables_.erase("KVET_MEMORY_FD");
  variables_.erase("KVET_MEMORY_PATH");
  variables_["KVET_READER_PATIENCE_MS"] = "100";
  variables_["KVET_FLUSH_MS"] = "10";
  limit_s_ = 60;
  start("pulse", 1);
  kvet_table seen{};
  for (int waited = 0; seen.status != KVET_INJECT_READER_GONE && waited < 20'000; waited += 10) {
    if (auto table = Table::open(pid_)) {
      seen = *table->header();
    }
    usleep(10'000);
  }
  EXPECT_EQ(seen.status, static_cast<uint32_t>(KVET_INJECT_READER_GONE));
  EXPECT_EQ(finish(), 0);
}

// How much memory a target has resident that has locked all of it, in MiB.
class LockedTest : public InjectedTest, public testing::WithParamInterface<const char*> {
 protected:
  double resident(bool injected, bool memory_file) {
    if (!injected) {
      variables_.erase("CUDA_INJECTION64_PATH");
    }
    if (!memory_file) {
      variables_.erase("KVET_MEMORY_FD");
      variables_.erase("KVET_MEMORY_PATH");
    }
    start(GetParam(), 100);
    double mib = -1;
    const std::string said = line();
    if (sscanf(said.c_str(), "resident %lf", &mib) != 1 && said != "not allowed\n") {
      ADD_FAILURE() << said;
    }
    EXPECT_EQ(finish(), 0);
    return mib;
  }
  // Room for the ring (16 MiB), the target's own start-up, and what 100 launches touch; far below the 64 MiB of a table, the
  // 512 MiB of the buffers, and the 4 GiB of all tables.
  static constexpr double room_mib = 48;
};

TEST_P(LockedTest, MemoryThatIsNotUsedIsNotResident) {
  const Variables given = variables_;
  const double alone = resident(false, false);
  if (alone < 0) {
    GTEST_SKIP() << "locking memory is not allowed here";
  }
  variables_ = given;
  EXPECT_LT(resident(true, false), alone + room_mib);
  variables_ = given;
  EXPECT_LT(resident(true, true), alone + room_mib);
  expect_joined(100);
  EXPECT_TRUE(sink_.losses.empty());
}
INSTANTIATE_TEST_SUITE_P(BeforeAndAfter, LockedTest, testing::Values("lock", "lock_late"));

TEST_F(InjectedTest, ALibraryThatIsNoCuptiLeavesTheTargetAlone) {
  // Found first, opened, and without the functions: the next candidate serves.
  variables_["KVET_CUPTI_PATH"] = "libm.so.6";
  start("run", 100);
  EXPECT_EQ(finish(), 0);
  expect_joined(100);
}

TEST_F(InjectedTest, DiscardCollectsAndThrowsAway) {
  variables_["KVET_DISCARD"] = "1";
  start("run", 100);
  EXPECT_EQ(finish(), 0);
  EXPECT_TRUE(sink_.executions.empty());
  EXPECT_TRUE(sink_.losses.empty());
  EXPECT_EQ(table_header().status, static_cast<uint32_t>(KVET_INJECT_RECORDING));
}

TEST_F(InjectedTest, TinyBuffersLoseNothing) {
  variables_["KVET_BUFFER_KIB"] = "16";
  start("threads", 8000);
  EXPECT_EQ(finish(), 0);
  expect_joined(8000);
  EXPECT_TRUE(sink_.losses.empty());
}

TEST_F(InjectedTest, NonsenseInTheEnvironmentIsHarmless) {
  variables_["KVET_MEMORY_FD"] = "0";  // not the recorder's file
  variables_["KVET_MEMORY_PATH"] = "/dev/null";
  variables_["KVET_WAIT_MS"] = "-1";
  variables_["KVET_FLUSH_MS"] = "soon";
  variables_["KVET_BUFFER_KIB"] = "99999999999999999999999";
  start("run", 50);
  EXPECT_EQ(finish(), 0);
}

}  // namespace
}  // namespace kvet::probes
