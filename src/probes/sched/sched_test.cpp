// The decoder of off-CPU events and the tables of system calls, without a kernel.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstring>

#include "abi/bpf_events.h"
#include "probes/kernel/kept_events.h"
#include "probes/sched/decode.h"
#include "probes/sched/system_calls.h"

namespace kvet::probes {
namespace {

// The numbers of this machine's own headers, against the table for this machine.
TEST(SystemCalls, ThisMachinesNumbersAreClassified) {
  for (const int number : {SYS_futex}) {
    EXPECT_EQ(blocking_reason(number), OffCpuReason::futex) << number;
  }
  for (const int number : {SYS_ppoll, SYS_pselect6, SYS_epoll_pwait}) {
    EXPECT_EQ(blocking_reason(number), OffCpuReason::poll) << number;
  }
  for (const int number :
       {SYS_read,   SYS_write,     SYS_readv,   SYS_writev,  SYS_pread64,        SYS_pwrite64, SYS_ioctl,
        SYS_sendto, SYS_recvfrom,  SYS_sendmsg, SYS_recvmsg, SYS_accept,         SYS_accept4,  SYS_connect,
        SYS_fsync,  SYS_fdatasync, SYS_openat,  SYS_splice,  SYS_io_uring_enter, SYS_recvmmsg, SYS_sendmmsg}) {
    EXPECT_EQ(blocking_reason(number), OffCpuReason::io) << number;
  }
  for (const int number : {SYS_nanosleep, SYS_clock_nanosleep}) {
    EXPECT_EQ(blocking_reason(number), OffCpuReason::sleep) << number;
  }
  for (const int number : {-1, SYS_getpid, SYS_wait4, SYS_mmap, 100000}) {
    EXPECT_EQ(blocking_reason(number), OffCpuReason::other) << number;
  }
}

// From the two kernel tables: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
TEST(SystemCalls, BothArchitecturesAreKnownOnEither) {
  EXPECT_EQ(blocking_reason(202, Architecture::x86_64), OffCpuReason::futex);
  EXPECT_EQ(blocking_reason(202, Architecture::aarch64), OffCpuReason::io);  // accept
  EXPECT_EQ(blocking_reason(98, Architecture::aarch64), OffCpuReason::futex);
  EXPECT_EQ(blocking_reason(98, Architecture::x86_64), OffCpuReason::other);  // getrusage
  EXPECT_EQ(blocking_reason(7, Architecture::x86_64), OffCpuReason::poll);
  EXPECT_EQ(blocking_reason(73, Architecture::aarch64), OffCpuReason::poll);  // ppoll
  EXPECT_EQ(blocking_reason(230, Architecture::x86_64), OffCpuReason::sleep);
  EXPECT_EQ(blocking_reason(115, Architecture::aarch64), OffCpuReason::sleep);
}

class SchedDecode : public testing::Test {
 protected:
  static constexpr int32_t pid = 4711, thread = 4712;

  SchedDecode() {
    processes_.begin({.pid = pid, .name = "target", .start_ns = 1});
    event_.header = {KVET_EVENT_OFF_CPU, sizeof event_, 1'000, pid, thread};
    event_.wake_ns = 3'000;
    event_.end_ns = 4'000;
    event_.state = 1;
    event_.system_call = -1;
    event_.cpu = 7;
    event_.taker_thread_id = 99;
    std::strcpy(event_.taker_name, "taker");
    event_.waker_thread_id = 98;
  }
  const OffCpu& decode() {
    decoder_.decode(std::as_bytes(std::span(&event_, 1)));
    EXPECT_FALSE(sink_.off_cpu.empty());
    return sink_.off_cpu.back();
  }

  KeptEvents sink_;
  ProcessDirectory processes_{sink_};
  SchedDecoder decoder_{sink_, processes_};
  kvet_event_off_cpu event_{};
};

TEST_F(SchedDecode, EveryFieldArrives) {
  event_.system_call = SYS_ppoll;
  const OffCpu& off_cpu = decode();
  EXPECT_EQ(off_cpu.process, ProcessId{0});
  EXPECT_EQ(off_cpu.thread_id, thread);
  EXPECT_EQ(off_cpu.reason, OffCpuReason::poll);
  EXPECT_EQ(off_cpu.system_call, SYS_ppoll);
  EXPECT_EQ(off_cpu.start_ns, 1'000);
  EXPECT_EQ(off_cpu.wake_ns, 3'000);
  EXPECT_EQ(off_cpu.end_ns, 4'000);
  EXPECT_EQ(off_cpu.cpu, 7U);
  EXPECT_EQ(off_cpu.taker_thread_id, 99);
  EXPECT_EQ(sink_.text(off_cpu.taker_name), "taker");
  EXPECT_EQ(off_cpu.waker_thread_id, 98);
}

TEST_F(SchedDecode, RunnableAndSomebodyTookTheCpuIsPreemption) {
  event_.state = 0;
  event_.preempted = KVET_OFF_CPU_PREEMPTED;
  event_.wake_ns = event_.header.time_ns;
  EXPECT_EQ(decode().reason, OffCpuReason::preempted);
}

TEST_F(SchedDecode, RunnableAndNobodyTookTheCpuIsThrottling) {
  event_.state = 0;
  event_.preempted = KVET_OFF_CPU_PREEMPTED;
  event_.taker_thread_id = 0;
  EXPECT_EQ(decode().reason, OffCpuReason::throttled);
}

TEST_F(SchedDecode, AKernelThatSaysThrottledIsBelieved) {
  event_.state = 0;
  event_.preempted = KVET_OFF_CPU_THROTTLED;
  EXPECT_EQ(decode().reason, OffCpuReason::throttled);
}

TEST_F(SchedDecode, AnUninterruptibleWaitIsInputOutput) {
  event_.state = 2;  // TASK_UNINTERRUPTIBLE
  EXPECT_EQ(decode().reason, OffCpuReason::io);
  event_.state = 0x402;  // TASK_IDLE: it waits so that it does not count as load, not for a device
  EXPECT_EQ(decode().reason, OffCpuReason::other);
  event_.state = 2;
  event_.system_call = SYS_futex;  // the call says more than the state
  EXPECT_EQ(decode().reason, OffCpuReason::futex);
}

TEST_F(SchedDecode, AnUnseenWakeUpInventsNoWaitingForACpu) {
  event_.wake_ns = 0;
  EXPECT_EQ(decode().wake_ns, 4'000);
}

TEST_F(SchedDecode, ATakersNameMayFillItsField) {
  std::memset(event_.taker_name, 'x', sizeof event_.taker_name);
  EXPECT_EQ(sink_.text(decode().taker_name), std::string(16, 'x'));
}

TEST_F(SchedDecode, BrokenEventsAreCountedAndLeftOut) {
  const auto bytes = std::as_bytes(std::span(&event_, 1));
  decoder_.decode(bytes.first(bytes.size() - 1));
  event_.header.kind = KVET_EVENT_LAUNCH;
  decoder_.decode(bytes);
  event_.header.kind = KVET_EVENT_OFF_CPU;
  event_.end_ns = 999;  // before it began
  decoder_.decode(bytes);
  EXPECT_EQ(decoder_.rejected(), 3U);
  EXPECT_TRUE(sink_.off_cpu.empty());
}

}  // namespace
}  // namespace kvet::probes
