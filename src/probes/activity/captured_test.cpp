// Launches under stream capture, where the target captures without end.
#include "probes/activity/captured.h"

#include <gtest/gtest.h>

namespace kvet::probes {
namespace {

constexpr int64_t millisecond = 1'000'000;

ApiCall launch(uint32_t correlation_id, int64_t start_ns) {
  ApiCall call;
  call.kind = ApiKind::launch_kernel;
  call.correlation_id = correlation_id;
  call.start_ns = start_ns;
  call.end_ns = start_ns + 1;
  return call;
}

TEST(CapturedLaunches, AMillionCapturesAreForgottenAndTheNewestIsNot) {
  CapturedLaunches launches;
  std::vector<ApiCall> seen;
  const auto emit = [&](const ApiCall& call) { seen.push_back(call); };
  int64_t time = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    launches.capture_began(time += millisecond);
    launches.capture_ended(time += millisecond);
    ASSERT_LE(launches.edges(), CapturedLaunches::edge_limit);
  }
  launches.launched(launch(1, time + millisecond), emit);  // between two captures: its execution was lost
  launches.capture_began(time + 2 * millisecond);
  launches.launched(launch(2, time + 3 * millisecond), emit);  // inside
  launches.capture_ended(time + 4 * millisecond);
  launches.finish(emit);
  ASSERT_EQ(seen.size(), 2u);
  for (const ApiCall& call : seen) {
    EXPECT_EQ(call.captured, call.correlation_id == 2) << call.correlation_id;
  }
}

TEST(CapturedLaunches, BeginningsWithoutAnEndAreForgottenTooAndStillCount) {
  CapturedLaunches launches;
  std::vector<ApiCall> seen;
  const auto emit = [&](const ApiCall& call) { seen.push_back(call); };
  for (int i = 1; i <= 200'000; ++i) {
    launches.capture_began(i);
    ASSERT_LE(launches.edges(), CapturedLaunches::edge_limit);
  }
  for (int i = 1; i <= 200'000; ++i) {
    launches.capture_ended(200'000 + i);
  }
  launches.launched(launch(1, 200'001), emit);
  launches.launched(launch(2, 500'000), emit);
  launches.finish(emit);
  ASSERT_EQ(seen.size(), 2u);
  for (const ApiCall& call : seen) {
    EXPECT_EQ(call.captured, call.correlation_id == 1) << call.correlation_id;
  }
}

}  // namespace
}  // namespace kvet::probes
