// The decoder of launch events and the table of probed functions, without a kernel.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "abi/bpf_events.h"
#include "probes/kernel/kept_events.h"
#include "probes/launch/decode.h"
#include "probes/launch/functions.h"
#include "probes/launch/launch.h"

namespace kvet::probes {
namespace {

class LaunchDecode : public testing::Test {
 protected:
  LaunchDecode() {
    processes_.begin({.pid = 7, .start_ns = 1});
    event_.header = {KVET_EVENT_LAUNCH, sizeof event_, 100, 7, 8};
    event_.return_ns = 250;
    event_.stream = 0xabc;
    event_.entry_point = KVET_API_LAUNCH_KERNEL;
    event_.result = 700;
    event_.captured = 1;
  }
  void decode() { decoder_.decode(std::as_bytes(std::span(&event_, 1))); }

  KeptEvents sink_;
  ProcessDirectory processes_{sink_};
  LaunchDecoder decoder_{sink_, processes_};
  kvet_event_launch event_{};
};

TEST_F(LaunchDecode, EveryFieldArrives) {
  decode();
  ASSERT_EQ(sink_.api_calls.size(), 1U);
  const ApiCall& call = sink_.api_calls[0];
  EXPECT_EQ(call.process, ProcessId{0});
  EXPECT_EQ(call.thread_id, 8);
  EXPECT_EQ(call.kind, ApiKind::launch_kernel);
  EXPECT_EQ(call.source, Source::uprobe);
  EXPECT_EQ(call.correlation_id, 0U);
  EXPECT_EQ(call.start_ns, 100);
  EXPECT_EQ(call.end_ns, 250);
  EXPECT_EQ(call.result, 700);
  EXPECT_EQ(call.stream_handle, 0xabcU);
  EXPECT_TRUE(call.captured);
}

TEST_F(LaunchDecode, KindsOfLaunches) {
  const std::pair<uint32_t, ApiKind> kinds[] = {{KVET_API_LAUNCH_COOPERATIVE, ApiKind::launch_cooperative},
                                                {KVET_API_LAUNCH_GRAPH, ApiKind::launch_graph},
                                                {KVET_API_LAUNCH_HOST_FUNCTION, ApiKind::launch_host_function}};
  for (const auto& [entry_point, kind] : kinds) {
    event_.entry_point = entry_point;
    decode();
    EXPECT_EQ(sink_.api_calls.back().kind, kind);
  }
}

TEST_F(LaunchDecode, BrokenEventsAreCountedAndLeftOut) {
  event_.entry_point = 12345;
  decode();
  event_.entry_point = KVET_API_LAUNCH_KERNEL;
  event_.return_ns = 99;  // before it was called
  decode();
  event_.return_ns = 250;
  event_.header.size = 1;
  decode();
  EXPECT_EQ(decoder_.rejected(), 3U);
  EXPECT_TRUE(sink_.api_calls.empty());
}

TEST(LaunchFunctions, CountingLeavesTheReturnsOfLaunchesAlone) {
  std::set<std::string> counted, returns;
  for (const ProbedFunction& function : launch_functions(true)) {
    if (function.at_return) {
      counted.insert(function.symbol);
    }
  }
  for (const ProbedFunction& function : launch_returns()) {
    EXPECT_TRUE(function.at_return) << function.symbol;
    returns.insert(function.symbol);
  }
  EXPECT_TRUE(counted.contains("cuStreamEndCapture"));
  EXPECT_FALSE(counted.contains("cuLaunchKernel"));
  // What libcuda exports for launching, and the twins for per-thread default streams.
  for (const char* launch :
       {"cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernelMultiDevice",
        "cuGraphLaunch", "cuLaunchHostFunc", "cuLaunchKernel_ptsz", "cuLaunchKernelEx_ptsz",
        "cuLaunchCooperativeKernel_ptsz", "cuGraphLaunch_ptsz", "cuLaunchHostFunc_ptsz"}) {
    EXPECT_TRUE(returns.contains(launch)) << launch;
  }
  EXPECT_EQ(returns.size(), 11U);
}

}  // namespace
}  // namespace kvet::probes
