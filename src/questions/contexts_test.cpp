#include "questions/contexts.h"

#include <gtest/gtest.h>

#include "questions/planted_device.h"
#include "questions/timeline.h"

namespace kvet::questions {
namespace {

using Spans = std::vector<Span>;

struct Contexts : testing::Test {
  PlantedDevice device;
  ShapeId k = device.kernel("k"), other = device.kernel("other");

  Context& context(uint32_t process, uint32_t id, ContextSharing sharing = ContextSharing::time_sliced) {
    Context made;
    made.process = {process};
    made.context_id = id;
    made.sharing = sharing;
    device.capture.contexts.push_back(made);
    return device.capture.contexts.back();
  }
  void green(uint32_t process, uint32_t id, uint32_t parent, ContextSharing sharing = ContextSharing::time_sliced) {
    Context& made = context(process, id, sharing);
    made.green = true;
    made.parent_context_id = parent;
  }
  Execution& run(ShapeId shape, uint32_t process, uint32_t context_id, int64_t from, int64_t to) {
    Execution& execution = device.run(shape, 7 + 10 * context_id, from, to);
    execution.process = {process};
    execution.context_id = context_id;
    return execution;
  }
  DeviceTimeline timeline() {
    device.sample(0, 0, 1);  // sorts
    const auto all = timelines(device.capture, device.set("^k"));
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? DeviceTimeline{} : all.front();
  }
  void expect_siblings() {
    run(k, 0, 1, 100, 200);
    run(other, 1, 2, 150, 300);
    const DeviceTimeline line = timeline();
    EXPECT_EQ(line.beside.spans(), (Spans{{150, 200}}));
    EXPECT_TRUE(line.other_context.empty());
  }
  void expect_turns() {
    run(k, 0, 1, 100, 200);
    run(other, 1, 2, 150, 300);
    const DeviceTimeline line = timeline();
    EXPECT_TRUE(line.beside.empty());
    EXPECT_EQ(line.other_context.spans(), (Spans{{150, 200}}));
  }
};

TEST_F(Contexts, ClientsOfMpsAreSiblings) {
  context(0, 1, ContextSharing::mps);
  context(1, 2, ContextSharing::mps);
  expect_siblings();
}
TEST_F(Contexts, OneClientOfMpsAndOneThatIsNoneTakeTurns) {
  context(0, 1, ContextSharing::mps);
  context(1, 2);
  expect_turns();
}
TEST_F(Contexts, PlainContextsTakeTurns) {
  context(0, 1);
  context(1, 2);
  expect_turns();
}
TEST_F(Contexts, ContextsOfWhichNothingIsKnownTakeTurns) { expect_turns(); }

TEST_F(Contexts, TwoContextsOfOneProcessTakeTurns) {
  context(0, 1);
  context(0, 2);
  run(k, 0, 1, 100, 200);
  run(other, 0, 2, 150, 300);
  EXPECT_EQ(timeline().other_context.spans(), (Spans{{150, 200}}));
}

TEST_F(Contexts, GreenContextsOfOneParentAreSiblings) {
  context(0, 1);
  green(0, 2, 1);
  green(0, 3, 1);
  run(k, 0, 2, 100, 200);
  run(other, 0, 3, 150, 250);
  run(k, 0, 2, 300, 400);
  run(other, 0, 1, 390, 500);  // of the parent itself
  const DeviceTimeline line = timeline();
  EXPECT_EQ(line.beside.spans(), (Spans{{150, 200}, {390, 400}}));
  EXPECT_TRUE(line.other_context.empty());
}

TEST_F(Contexts, GreenContextsOfTwoParentsTakeTurns) {
  green(0, 2, 1);
  green(0, 3, 4);
  run(k, 0, 2, 100, 200);
  run(other, 0, 3, 150, 250);
  EXPECT_EQ(timeline().other_context.spans(), (Spans{{150, 200}}));
}

// A parent that a plain context may have says nothing about its SMs.
TEST_F(Contexts, APlainContextWithAParentIsAGroupOfItsOwn) {
  context(0, 1);
  context(0, 2).parent_context_id = 1;
  run(k, 0, 1, 100, 200);
  run(other, 0, 2, 150, 250);
  EXPECT_EQ(timeline().other_context.spans(), (Spans{{150, 200}}));
}

TEST_F(Contexts, AGreenContextOfAnMpsClientIsOneToo) {
  context(0, 1, ContextSharing::mps);
  green(0, 5, 1, ContextSharing::unknown);
  context(1, 2, ContextSharing::mps);
  run(k, 0, 5, 100, 200);
  run(other, 1, 2, 150, 250);
  EXPECT_EQ(timeline().beside.spans(), (Spans{{150, 200}}));
}

// A file may say that two green contexts are each other's parents.
TEST_F(Contexts, ParentsInACircleEnd) {
  green(0, 2, 3);
  green(0, 3, 2);
  run(k, 0, 2, 100, 200);
  run(other, 0, 3, 150, 250);
  EXPECT_EQ(timeline().alone.spans().size() + timeline().beside.spans().size(), 1u);
}

// Green contexts have streams of their own: the same stream id in two of them is not one stream.
TEST_F(Contexts, StreamsBelongToTheirContext) {
  context(0, 1);
  green(0, 2, 1);
  green(0, 3, 1);
  run(k, 0, 2, 100, 200).stream_id = 7;
  run(other, 0, 3, 150, 250).stream_id = 7;
  EXPECT_EQ(timeline().beside.spans(), (Spans{{150, 200}}));
}

TEST_F(Contexts, GroupsUnderWay) {
  context(0, 1);
  context(1, 2);
  run(k, 0, 1, 100, 200);
  run(k, 0, 1, 120, 180);
  run(other, 1, 2, 150, 160);
  run(other, 1, 2, 160, 170);
  run(other, 1, 2, 190, 300);
  run(k, 0, 1, 400, 500);
  EXPECT_EQ(groups_under_way(device.capture, DeviceId{0}).spans(), (Spans{{150, 170}, {190, 200}}));
  EXPECT_TRUE(groups_under_way(device.capture, DeviceId{1}).empty());
}

// The counters see a context that nobody recorded: which part of K's execution was its own turn is not known.
TEST_F(Contexts, AnExecutionWithASwitchInItIsNeitherAloneNorBeside) {
  run(k, 0, 1, 0, 100'000);
  run(k, 0, 1, 200'000, 400'000);
  run(other, 0, 1, 390'000, 420'000).stream_id = 99;
  device.sample(0, 500'000, 10'000);
  for (Sample& sample : device.capture.samples) {
    sample.context_switch_cycles = sample.start_ns == 250'000 ? 5'000 : 20;  // 20 of 10,000: below 1%
  }
  const auto all = timelines(device.capture, device.set("^k"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].alone.spans(), (Spans{{0, 100'000}}));
  EXPECT_EQ(all[0].whole.spans(), (Spans{{0, 100'000}}));
  EXPECT_EQ(all[0].other_context.spans(), (Spans{{200'000, 400'000}}));
  EXPECT_TRUE(all[0].beside.empty());
  EXPECT_EQ(switching_samples(device.capture, DeviceId{0}).spans(), (Spans{{250'000, 260'000}}));
}

}  // namespace
}  // namespace kvet::questions
