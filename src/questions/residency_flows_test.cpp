#include "questions/residency_flows.h"

#include <gtest/gtest.h>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

// A: 100 blocks of 8 warps; B: 50 blocks of 4 warps, from 1 ms on, in samples of 100 us.
class Flows : public ::testing::Test {
 protected:
  static PlantedDevice planted() {
    PlantedDevice device;
    device.run(device.kernel("a", 256, 32, 0, 100), 7, 500'000, 3'000'000);
    device.run(device.kernel("b", 128, 32, 0, 50), 8, 1'000'000, 2'000'000);
    return device;
  }
  // The next sample, with its counts.
  void sample(double launched, double completed, int64_t length = 100'000) {
    Sample next;
    next.start_ns = at_;
    next.end_ns = at_ += length;
    next.warps_launched = launched;
    next.blocks_completed = completed;
    flows_.advance(next);
  }
  void idle_and_a() {
    flows_.restart();
    for (int i = 0; i < 5; ++i) {
      sample(0, 0);
    }
    sample(800, 0);  // A's blocks come, all at once
  }

  PlantedDevice device_ = planted();
  std::vector<const Execution*> executions_{&device_.capture.executions[0], &device_.capture.executions[1]};
  ShapeVectors vectors_{device_.capture, *sm_limits(device_.capture.devices[0]), 132};
  FlowBounds flows_{executions_, vectors_, 300};
  int64_t at_ = 0;
};

TEST_F(Flows, BlocksLaunchedLessBlocksCompleted) {
  idle_and_a();
  sample(0, 30);
  // 100 at its start, 70 at its end; two blocks of doubt about each count.
  EXPECT_NEAR(flows_.of(*executions_[0]).low, 70, 4.1);
  EXPECT_LE(flows_.of(*executions_[0]).low, 70);
  EXPECT_NEAR(flows_.of(*executions_[0]).high, 100, 4.1);
  EXPECT_GE(flows_.of(*executions_[0]).high, 100);
  for (int i = 0; i < 3; ++i) {
    sample(0, 0);
  }
  sample(200, 0);  // B's 50 blocks
  sample(0, 0);
  // Whoever completed the 30: of A at least 70 are left, and of B at least 20.
  EXPECT_NEAR(flows_.of(*executions_[0]).low, 70, 4.1);
  EXPECT_NEAR(flows_.of(*executions_[1]).low, 20, 4.1);
  EXPECT_LE(flows_.of(*executions_[1]).high, 50);
  for (int i = 0; i < 8; ++i) {
    sample(0, 5);
  }
  sample(0, 10);  // B ends in it: 80 are completed, 50 of them B's
  sample(0, 0);
  sample(0, 0);
  EXPECT_NEAR(flows_.of(*executions_[0]).low, 70, 4.1);
  EXPECT_NEAR(flows_.of(*executions_[0]).high, 70, 4.1);
}

TEST_F(Flows, AGapOrUnrecordedWorkEndsIt) {
  idle_and_a();
  EXPECT_GT(flows_.of(*executions_[0]).low, 0 - 1e-9);
  EXPECT_LT(flows_.of(*executions_[0]).high, 110);
  at_ += 50'000;  // samples are missing
  sample(0, 30);
  EXPECT_EQ(flows_.of(*executions_[0]).low, 0);
  EXPECT_GT(flows_.of(*executions_[0]).high, 1e9);

  at_ = 0;
  idle_and_a();
  sample(8000, 0);  // warps that no execution here can have launched
  EXPECT_GT(flows_.of(*executions_[0]).high, 1e9);
}

}  // namespace
}  // namespace kvet::questions
