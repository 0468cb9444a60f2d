// Chains of wake-ups, planted by hand: who held whom up follows from the rows.
#include "questions/wakers.h"

#include <gtest/gtest.h>

namespace kvet::questions {
namespace {

constexpr int32_t dispatcher = 10, lock_holder = 20, reader = 30;

class Wakers : public testing::Test {
 protected:
  Capture capture_;

  Wakers() {
    for (uint32_t process = 0; process < 2; ++process) {
      Process entry;
      entry.id = ProcessId{process};
      capture_.processes.push_back(entry);
    }
  }
  void off(int32_t thread, OffCpuReason reason, int64_t start, int64_t wake, int64_t end, int32_t waker,
           uint32_t process = 0) {
    OffCpu entry;
    entry.process = ProcessId{process};
    entry.thread_id = thread;
    entry.reason = reason;
    entry.start_ns = start;
    entry.wake_ns = wake;
    entry.end_ns = end;
    entry.waker_thread_id = waker;
    capture_.off_cpu.push_back(entry);
  }
  void waits_for_gpu(int32_t thread, int64_t start, int64_t end) {
    ApiCall call;
    call.thread_id = thread;
    call.kind = ApiKind::synchronize_stream;
    call.start_ns = start;
    call.end_ns = end;
    capture_.api_calls.push_back(call);
  }
  WakeChains::Causes causes(int64_t from, int64_t to) {
    WakeChains::Causes result;
    WakeChains(capture_).add(result, {0, dispatcher}, from, to);
    return result;
  }
  static double spent(const WakeChains::Causes& causes, int32_t thread, Activity activity, uint32_t process = 0) {
    const auto found = causes.find({process, thread});
    return found == causes.end() ? 0 : found->second.spent[static_cast<size_t>(activity)];
  }
};

// The dispatcher wants a lock from 1000 to 5000. Its holder reads a file from 1500 to 3500, which the third thread hands
// over; that one runs but for a nap of its own (a timer wakes it) from 2000 to 2600. The holder waits for a CPU until 3700.
TEST_F(Wakers, AChainIsFollowedToWhoDidSomethingElse) {
  off(dispatcher, OffCpuReason::futex, 1000, 5000, 5100, lock_holder);
  off(lock_holder, OffCpuReason::io, 1500, 3500, 3700, reader);
  off(reader, OffCpuReason::sleep, 2000, 2600, 2600, 0);
  const auto found = causes(0, 6000);
  EXPECT_EQ(spent(found, lock_holder, Activity::running), 500 + 1300);
  EXPECT_EQ(spent(found, lock_holder, Activity::waiting_for_cpu), 200);
  EXPECT_EQ(spent(found, lock_holder, Activity::io), 0) << "that time is the reader's";
  EXPECT_EQ(spent(found, reader, Activity::running), 500 + 900);
  EXPECT_EQ(spent(found, reader, Activity::sleep), 600);
  EXPECT_EQ(found.size(), 2u) << "what the dispatcher did itself is no cause";
  double total = 0;
  for (const auto& [key, part] : found) {
    total += part.total();
  }
  EXPECT_EQ(total, 4000) << "the parts are the time that it was blocked";
}

TEST_F(Wakers, OnlyTheTimeAskedForCounts) {
  off(dispatcher, OffCpuReason::futex, 1000, 5000, 5100, lock_holder);
  off(lock_holder, OffCpuReason::sleep, 0, 4000, 4000, 0);
  const auto found = causes(3500, 4500);
  EXPECT_EQ(spent(found, lock_holder, Activity::sleep), 500);
  EXPECT_EQ(spent(found, lock_holder, Activity::running), 500);
}

TEST_F(Wakers, AnInterruptProvesNothing) {
  off(dispatcher, OffCpuReason::sleep, 1000, 5000, 5100, 0);
  EXPECT_TRUE(causes(0, 6000).empty());
}

TEST_F(Wakers, AThreadThatIsNotRecordedProvesNothing) {
  off(dispatcher, OffCpuReason::poll, 1000, 5000, 5100, 77);
  EXPECT_TRUE(causes(0, 6000).empty());
}

TEST_F(Wakers, PreemptionIsNotAWakeUp) {
  off(dispatcher, OffCpuReason::preempted, 1000, 1000, 5000, lock_holder);
  off(lock_holder, OffCpuReason::sleep, 0, 500, 500, 0);
  EXPECT_TRUE(causes(0, 6000).empty());
}

TEST_F(Wakers, WaitingForTheGpuIsNobodysFault) {
  off(dispatcher, OffCpuReason::futex, 1000, 5000, 5100, lock_holder);
  off(lock_holder, OffCpuReason::sleep, 0, 500, 500, 0);
  waits_for_gpu(dispatcher, 900, 5200);
  EXPECT_TRUE(causes(0, 6000).empty());
}

TEST_F(Wakers, AThreadIdThatIsUsedTwiceMeansTheOneInTheSameProcess) {
  off(lock_holder, OffCpuReason::io, 0, 10, 10, 0, 1);
  off(dispatcher, OffCpuReason::futex, 1000, 5000, 5100, lock_holder);
  off(lock_holder, OffCpuReason::sleep, 2000, 3000, 3000, 0, 0);
  const auto found = causes(0, 6000);
  EXPECT_EQ(spent(found, lock_holder, Activity::sleep, 0), 1000);
  EXPECT_EQ(found.size(), 1u);
}

// Two threads that wake each other, each asleep the whole time, cannot be; a file may say so.
TEST_F(Wakers, ACircleEnds) {
  off(dispatcher, OffCpuReason::futex, 1000, 5000, 5100, lock_holder);
  off(lock_holder, OffCpuReason::futex, 1000, 5000, 5100, dispatcher);
  double total = 0;
  for (const auto& [key, part] : causes(0, 6000)) {
    total += part.total();
  }
  EXPECT_EQ(total, 4000);
}

}  // namespace
}  // namespace kvet::questions
