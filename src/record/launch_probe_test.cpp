// The launch program on real calls with known arguments: a look-alike of libcuda in this very process.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "probes/launch/functions.h"
#include "probes/launch/probe.h"
#include "record/process_facts.h"
#include "record/testing/probe_environment.h"
#include "record/uprobe_link.h"

namespace kvet::record {
namespace {

using Handle = void*;
Handle handle(uintptr_t value) { return reinterpret_cast<Handle>(value); }

using Launch = int(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**,
                   void**);
using LaunchCooperative = int(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle,
                              void**);
using LaunchEx = int(const void*, Handle, void**, void**);
using LaunchMultiDevice = int(void*, unsigned, unsigned);
using Two = int(Handle, Handle);
using Three = int(Handle, Handle, Handle);

// CUlaunchConfig and CUDA_LAUNCH_PARAMS of cuda.h 13.0.
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  Handle stream;
  void* attributes;
  unsigned attribute_count;
};
static_assert(offsetof(LaunchConfig, stream) == 32);
struct LaunchParameters {
  Handle function;
  unsigned grid[3], block[3], shared_bytes;
  Handle stream;
  void** parameters;
};
static_assert(offsetof(LaunchParameters, stream) == 40);

class LaunchProbeTest : public testing::Test {
 protected:
  void attach(bool count_only, probes::UprobeWay way = best_uprobe_way()) {
    auto targets = probes::TargetMap::create();
    ASSERT_TRUE(targets) << targets.error().message();
    targets_.emplace(std::move(*targets));
    ASSERT_TRUE(targets_->add(getpid()));
    auto probe = probes::LaunchProbe::load(*targets_, way, count_only, [this](std::span<const std::byte> bytes) {
      kvet_event_launch event;
      ASSERT_EQ(bytes.size(), sizeof event);
      std::memcpy(&event, bytes.data(), sizeof event);
      events_.push_back(event);
    });
    ASSERT_TRUE(probe) << probe.error().message();
    probe_.emplace(std::move(*probe));
    const probes::UprobeProgram program = probe_->program();
    LibraryIndex index(program.functions, {});
    library_ = mapped_library(index, LibraryKind::cuda);
    ASSERT_TRUE(library_) << "the look-alike was not found among this process's mappings";
    attachment_ = attach_uprobes(program, *library_, getpid());
    ASSERT_FALSE(attachment_.failure) << attachment_.failure->message();
  }

  const kvet_event_launch& last() {
    probe_->poll();
    EXPECT_FALSE(events_.empty());
    static const kvet_event_launch none{};
    return events_.empty() ? none : events_.back();
  }
  void expect(kvet_api_kind kind, uintptr_t function, uintptr_t stream, std::array<unsigned, 3> grid,
              std::array<unsigned, 3> block, unsigned shared_bytes, bool known) {
    const kvet_event_launch& event = last();
    EXPECT_EQ(event.header.process_id, static_cast<uint32_t>(getpid()));
    EXPECT_EQ(event.header.thread_id, static_cast<uint32_t>(syscall(SYS_gettid)));
    EXPECT_EQ(event.entry_point, static_cast<uint32_t>(kind));
    EXPECT_EQ(event.function, function);
    EXPECT_EQ(event.stream, stream);
    EXPECT_EQ(event.result, result_);
    EXPECT_EQ(event.arguments_known, known ? 1U : 0U);
    for (size_t axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(event.grid[axis], grid[axis]) << "grid, axis " << axis;
      EXPECT_EQ(event.block[axis], block[axis]) << "block, axis " << axis;
    }
    EXPECT_EQ(event.shared_bytes, shared_bytes);
  }
  void call_every_entry_point();
  void set_result(int result) {
    result_ = result;
    *cuda_.find<int>("look_alike_result") = result;
  }

  Loaded cuda_{look_alike("cuda")};
  std::optional<probes::TargetMap> targets_;
  std::optional<probes::LaunchProbe> probe_;
  std::vector<kvet_event_launch> events_;
  std::shared_ptr<const Library> library_;
  Attachment attachment_;
  int result_ = 0;
};

void LaunchProbeTest::call_every_entry_point() {
  set_result(719);
  for (const bool per_thread : {false, true}) {
    const std::string suffix = per_thread ? "_ptsz" : "";
    cuda_.find<Launch>(("cuLaunchKernel" + suffix).c_str())(handle(0x7f0000001000), 101, 102, 103, 104, 105, 106, 107,
                                                            handle(0x7f0000002000), nullptr, nullptr);
    expect(KVET_API_LAUNCH_KERNEL, 0x7f0000001000, 0x7f0000002000, {101, 102, 103}, {104, 105, 106}, 107, true);

    cuda_.find<LaunchCooperative>(("cuLaunchCooperativeKernel" + suffix).c_str())(handle(0x11), 4294967295U, 2, 3, 4, 5,
                                                                                  6, 7, handle(0x22), nullptr);
    expect(KVET_API_LAUNCH_COOPERATIVE, 0x11, 0x22, {4294967295U, 2, 3}, {4, 5, 6}, 7, true);

    const LaunchConfig config{{11, 12, 13}, {14, 15, 16}, 17, handle(0x33), nullptr, 0};
    cuda_.find<LaunchEx>(("cuLaunchKernelEx" + suffix).c_str())(&config, handle(0x44), nullptr, nullptr);
    expect(KVET_API_LAUNCH_KERNEL, 0x44, 0x33, {11, 12, 13}, {14, 15, 16}, 17, true);

    cuda_.find<Two>(("cuGraphLaunch" + suffix).c_str())(handle(0x55), handle(0x66));
    expect(KVET_API_LAUNCH_GRAPH, 0x55, 0x66, {}, {}, 0, false);

    cuda_.find<Three>(("cuLaunchHostFunc" + suffix).c_str())(handle(0x77), handle(0x88), handle(0x99));
    expect(KVET_API_LAUNCH_HOST_FUNCTION, 0x88, 0x77, {}, {}, 0, false);
  }
  LaunchParameters parameters[2] = {{handle(0xaa), {21, 22, 23}, {24, 25, 26}, 27, handle(0xbb), nullptr}, {}};
  cuda_.find<LaunchMultiDevice>("cuLaunchCooperativeKernelMultiDevice")(parameters, 2, 0);
  expect(KVET_API_LAUNCH_COOPERATIVE, 0xaa, 0xbb, {21, 22, 23}, {24, 25, 26}, 27, true);

  EXPECT_EQ(events_.size(), 11U);
  EXPECT_EQ(probe_->counters()[KVET_COUNTER_LAUNCHES], 11U);
  EXPECT_EQ(probe_->counters()[KVET_COUNTER_LAUNCH_UNMATCHED], 0U);
}

TEST_F(LaunchProbeTest, ArgumentsOfEveryEntryPoint) {
  SKIP_WITHOUT_BPF();
  ASSERT_TRUE(cuda_.valid());
  ASSERT_NO_FATAL_FAILURE(attach(false));
  call_every_entry_point();
}

// What kernels before 6.10 get. Slow, since each probe is let go by itself.
TEST_F(LaunchProbeTest, ArgumentsOfEveryEntryPointProbedOneByOne) {
  SKIP_WITHOUT_BPF();
  ASSERT_TRUE(cuda_.valid());
  ASSERT_NO_FATAL_FAILURE(attach(false, probes::UprobeWay::single));
  call_every_entry_point();
}

TEST_F(LaunchProbeTest, AConfigurationThatCannotBeReadIsSaidToBeUnknown) {
  SKIP_WITHOUT_BPF();
  ASSERT_NO_FATAL_FAILURE(attach(false));
  cuda_.find<LaunchEx>("cuLaunchKernelEx")(handle(8), handle(0x44), nullptr, nullptr);
  expect(KVET_API_LAUNCH_KERNEL, 0x44, 0, {}, {}, 0, false);
}

TEST_F(LaunchProbeTest, TimesEncloseTheCall) {
  SKIP_WITHOUT_BPF();
  ASSERT_NO_FATAL_FAILURE(attach(false));
  const auto before = static_cast<uint64_t>(monotonic_ns());
  cuda_.find<Two>("cuGraphLaunch")(handle(1), handle(2));
  const auto after = static_cast<uint64_t>(monotonic_ns());
  const kvet_event_launch& event = last();
  EXPECT_GE(event.header.time_ns, before);
  EXPECT_GE(event.return_ns, event.header.time_ns);
  EXPECT_LE(event.return_ns, after);
}

TEST_F(LaunchProbeTest, TheThreadsOwnDefaultStreamIsToldFromTheOldOne) {
  SKIP_WITHOUT_BPF();
  ASSERT_NO_FATAL_FAILURE(attach(false));
  cuda_.find<Two>("cuGraphLaunch")(handle(1), nullptr);
  EXPECT_EQ(last().stream, 0U);
  cuda_.find<Two>("cuGraphLaunch_ptsz")(handle(1), nullptr);
  EXPECT_EQ(last().stream, 2U);  // CU_STREAM_PER_THREAD
}

TEST_F(LaunchProbeTest, LaunchesUnderCaptureAreMarked) {
  SKIP_WITHOUT_BPF();
  ASSERT_NO_FATAL_FAILURE(attach(false));
  auto* launch = cuda_.find<Two>("cuGraphLaunch");
  auto* begin = cuda_.find<Three>("cuStreamBeginCapture_v2");
  auto* end = cuda_.find<Two>("cuStreamEndCapture");
  auto* record = cuda_.find<Two>("cuEventRecord");
  auto* wait = cuda_.find<Three>("cuStreamWaitEvent");
  const Handle captured = handle(0x100), other = handle(0x200), joined = handle(0x300);
  const auto is_captured = [&](Handle stream) {
    launch(handle(1), stream);
    return last().captured == 1;
  };

  EXPECT_FALSE(is_captured(captured));
  begin(captured, nullptr, nullptr);
  EXPECT_TRUE(is_captured(captured));
  EXPECT_FALSE(is_captured(other));
  // A stream joins by waiting for an event that was recorded on a captured one, and not by another event.
  wait(joined, handle(0x901), nullptr);
  EXPECT_FALSE(is_captured(joined));
  record(handle(0x900), captured);
  wait(joined, handle(0x900), nullptr);
  EXPECT_TRUE(is_captured(joined));
  // An event that is recorded anew outside the capture carries it no further.
  record(handle(0x900), other);
  wait(other, handle(0x900), nullptr);
  EXPECT_FALSE(is_captured(other));
  end(captured, nullptr);
  EXPECT_FALSE(is_captured(captured));
  EXPECT_FALSE(is_captured(joined));

  // A capture that was not begun, and one that cannot be ended here (CUDA_ERROR_STREAM_CAPTURE_UNMATCHED).
  set_result(900);
  begin(captured, nullptr, nullptr);
  EXPECT_FALSE(is_captured(captured));
  set_result(0);
  begin(captured, nullptr, nullptr);
  set_result(903);
  end(captured, nullptr);
  EXPECT_TRUE(is_captured(captured));
  set_result(901);  // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: no graph, but the capture is over
  end(captured, nullptr);
  EXPECT_FALSE(is_captured(captured));
  set_result(0);
  EXPECT_EQ(probe_->counters()[KVET_COUNTER_CAPTURED_LAUNCHES], 3U);
}

TEST_F(LaunchProbeTest, AThreadsOwnStreamIsCapturedForItAlone) {
  SKIP_WITHOUT_BPF();
  ASSERT_NO_FATAL_FAILURE(attach(false));
  auto* launch = cuda_.find<Two>("cuGraphLaunch_ptsz");
  cuda_.find<Three>("cuStreamBeginCapture_v2_ptsz")(nullptr, nullptr, nullptr);
  launch(handle(1), nullptr);
  EXPECT_EQ(last().captured, 1U);
  std::thread([&] { launch(handle(1), nullptr); }).join();
  EXPECT_EQ(last().captured, 0U);
  cuda_.find<Two>("cuStreamEndCapture_ptsz")(nullptr, nullptr);
}

TEST_F(LaunchProbeTest, CountingSendsNothingUntilItIsAskedTo) {
  SKIP_WITHOUT_BPF();
  ASSERT_NO_FATAL_FAILURE(attach(true));
  auto* launch = cuda_.find<Two>("cuGraphLaunch");
  auto* begin = cuda_.find<Three>("cuStreamBeginCapture_v2");
  for (int index = 0; index < 5; ++index) {
    launch(handle(1), handle(0x100));
  }
  begin(handle(0x100), nullptr, nullptr);
  launch(handle(1), handle(0x100));
  cuda_.find<Two>("cuStreamEndCapture")(handle(0x100), nullptr);
  probe_->poll();
  EXPECT_TRUE(events_.empty());
  const auto counts = probe_->launches_by_process();
  ASSERT_EQ(counts.size(), 1U);
  EXPECT_EQ(counts[0].pid, getpid());
  EXPECT_EQ(counts[0].launches, 6U);
  EXPECT_EQ(counts[0].captured, 1U);

  const Attachment returns = attach_uprobes(probe_->returns_program(), *library_, getpid());
  ASSERT_FALSE(returns.failure) << returns.failure->message();
  probe_->send_events_of(getpid());
  launch(handle(0x5), handle(0x6));
  expect(KVET_API_LAUNCH_GRAPH, 0x5, 0x6, {}, {}, 0, false);
  EXPECT_EQ(events_.size(), 1U);

  EXPECT_EQ(probe_->forget(getpid()).launches, 7U);
  EXPECT_TRUE(probe_->launches_by_process().empty());
}

TEST_F(LaunchProbeTest, NothingIsMissedFromManyThreads) {
  SKIP_WITHOUT_BPF();
  ASSERT_NO_FATAL_FAILURE(attach(false));
  auto* launch = cuda_.find<Two>("cuGraphLaunch");
  constexpr size_t threads = 4, launches = 5000;
  std::vector<std::thread> running;
  running.reserve(threads);
  for (size_t thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      for (size_t index = 0; index < launches; ++index) {
        launch(handle(index), handle(thread + 16));
      }
    });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  probe_->poll();
  ASSERT_EQ(events_.size(), threads * launches);
  // Each thread's calls in its own order, none twice.
  std::array<size_t, threads> next{};
  for (const kvet_event_launch& event : events_) {
    ASSERT_EQ(event.function, next[event.stream - 16]++);
  }
}

}  // namespace
}  // namespace kvet::record
