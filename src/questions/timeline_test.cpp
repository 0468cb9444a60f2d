#include "questions/timeline.h"

#include <gtest/gtest.h>

#include <random>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

using Spans = std::vector<Span>;

DeviceTimeline timeline_of(PlantedDevice& device) {
  device.sample(0, 0, 1);  // sorts
  const auto all = timelines(device.capture, device.set("^k"));
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? DeviceTimeline{} : all.front();
}

TEST(Timeline, AloneAndBeside) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other"), third = device.kernel("third");
  device.run(k, 7, 100, 200);
  device.run(other, 8, 150, 250);
  device.run(third, 9, 180, 190);
  device.run(k, 7, 260, 300);
  device.run(k, 7, 400, 500);
  device.run(other, 8, 390, 600);
  const DeviceTimeline line = timeline_of(device);
  EXPECT_EQ(line.alone.spans(), (Spans{{100, 150}, {260, 300}}));
  EXPECT_EQ(line.undisturbed.spans(), line.alone.spans());
  EXPECT_EQ(line.beside.spans(), (Spans{{150, 200}, {400, 500}}));
  EXPECT_EQ(line.whole.spans(), (Spans{{260, 300}}));
  EXPECT_TRUE(line.other_context.empty());
  EXPECT_EQ(line.others.spans(), (Spans{{150, 250}, {390, 600}}));
  ASSERT_EQ(line.runs.size(), 3u);
  EXPECT_EQ(line.runs[0].beside_ns, 50);
  EXPECT_TRUE(line.runs[0].at_start.empty());
  EXPECT_TRUE(line.runs[1].alone_throughout);
  ASSERT_EQ(line.runs[2].at_start.size(), 1u);
  EXPECT_EQ(device.capture.text(line.runs[2].at_start[0]), "other");
  EXPECT_EQ(line.runs[2].beside_ns, 100);
}

// What ends at the moment at which K starts is not beside it.
TEST(Timeline, TouchingIsNotOverlapping) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other");
  device.run(other, 8, 0, 100);
  device.run(k, 7, 100, 200);
  device.run(other, 8, 200, 300);
  const DeviceTimeline line = timeline_of(device);
  EXPECT_TRUE(line.beside.empty());
  EXPECT_EQ(line.whole.spans(), (Spans{{100, 200}}));
  EXPECT_TRUE(line.runs[0].at_start.empty());
}

// Programmatic dependent launch: the next kernel of the stream begins early. It is no sibling; K's time begins where its
// predecessor ended, and counters in the overlap are not K's alone.
TEST(Timeline, OverlapInOneStreamIsNotASibling) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other");
  device.run(other, 7, 0, 100);
  device.run(k, 7, 90, 200);
  device.run(other, 7, 180, 300);
  const DeviceTimeline line = timeline_of(device);
  EXPECT_TRUE(line.beside.empty());
  EXPECT_EQ(line.alone.spans(), (Spans{{100, 200}}));
  EXPECT_EQ(line.undisturbed.spans(), (Spans{{100, 180}}));
  EXPECT_TRUE(line.whole.empty());
  EXPECT_EQ(line.runs[0].from_ns, 100);
  EXPECT_TRUE(line.runs[0].at_start.empty());
}

// K launched behind itself: each moment counts once.
TEST(Timeline, DependentPairsOfKCountOnce) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k");
  device.run(k, 7, 0, 100);
  device.run(k, 7, 90, 200);
  device.run(k, 7, 300, 400);
  const DeviceTimeline line = timeline_of(device);
  EXPECT_EQ(line.alone.spans(), (Spans{{0, 200}, {300, 400}}));
  EXPECT_TRUE(line.beside.empty());
  ASSERT_EQ(line.runs.size(), 3u);
  EXPECT_EQ(line.runs[0].to_ns - line.runs[0].from_ns, 100);
  EXPECT_EQ(line.runs[1].to_ns - line.runs[1].from_ns, 100) << "110 less the 10 in which the one before still ran";
  EXPECT_EQ(line.whole.spans(), (Spans{{300, 400}})) << "only the last had the device to itself throughout";
}

// Stream-incremental time begins at the latest earlier end, which need not be that of the one just before.
TEST(Timeline, TimeBeginsAtTheLatestEarlierEnd) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other");
  device.run(other, 7, 0, 150);
  device.run(other, 7, 100, 120);
  device.run(k, 7, 110, 200);
  const DeviceTimeline line = timeline_of(device);
  EXPECT_EQ(line.runs[0].from_ns, 150);
  EXPECT_EQ(line.alone.spans(), (Spans{{150, 200}}));
  EXPECT_TRUE(line.beside.empty());
}

// A sibling in another stream is one also while the predecessor still runs: but that time is not K's yet.
TEST(Timeline, DependentLaunchBesideASibling) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other"), third = device.kernel("third");
  device.run(other, 7, 0, 100);
  device.run(third, 8, 80, 150);
  device.run(k, 7, 90, 200);
  const DeviceTimeline line = timeline_of(device);
  EXPECT_EQ(line.beside.spans(), (Spans{{100, 150}}));
  EXPECT_EQ(line.alone.spans(), (Spans{{150, 200}}));
  EXPECT_EQ(line.runs[0].beside_ns, 50);
  ASSERT_EQ(line.runs[0].at_start.size(), 1u);
  EXPECT_EQ(device.capture.text(line.runs[0].at_start[0]), "third") << "and not its predecessor";
}

// A chain of dependent launches in a graph: each overlaps the next by a tenth.
TEST(Timeline, AChainOfDependentLaunchesInAGraph) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other");
  for (int replay = 0; replay < 2; ++replay) {
    for (int i = 0; i < 4; ++i) {
      const int64_t start = 10'000 * replay + 90 * i;
      Execution& node = device.run(i % 2 == 1 ? k : other, 7, start, start + 100);
      node.graph_id = 1;
      node.graph_node_id = static_cast<uint64_t>(i) + 1;
      node.correlation_id = 50u + static_cast<uint32_t>(replay);
    }
  }
  const DeviceTimeline line = timeline_of(device);
  EXPECT_TRUE(line.beside.empty());
  EXPECT_EQ(line.alone.spans(), (Spans{{100, 190}, {280, 370}, {10'100, 10'190}, {10'280, 10'370}}));
}

// All nodes of a graph launch carry one stream: branches that run side by side are siblings all the same.
TEST(Timeline, BranchesOfAGraphAreSiblings) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other");
  auto node = [&](Execution& execution, uint64_t id) {
    execution.graph_id = 1;
    execution.graph_node_id = id;
    execution.correlation_id = 77;
  };
  node(device.run(k, 7, 100, 200), 1);
  node(device.run(other, 7, 110, 190), 2);
  node(device.run(other, 7, 200, 300), 3);
  node(device.run(k, 7, 290, 400), 4);  // overlaps by little: programmatic dependent launch
  const DeviceTimeline line = timeline_of(device);
  EXPECT_EQ(line.beside.spans(), (Spans{{110, 190}}));
  EXPECT_EQ(line.alone.spans(), (Spans{{100, 110}, {190, 200}, {300, 400}}));
}

TEST(Timeline, AnotherContextIsNeitherSoloNorSibling) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other");
  device.run(k, 7, 100, 200);
  device.run(other, 7, 150, 170).process = {1};
  device.run(k, 7, 300, 400);
  device.run(other, 8, 390, 450).context_id = 2;
  const DeviceTimeline line = timeline_of(device);
  EXPECT_EQ(line.other_context.spans(), (Spans{{150, 170}, {390, 400}}));
  EXPECT_TRUE(line.beside.empty());
  EXPECT_EQ(line.alone.spans(), (Spans{{100, 150}, {170, 200}, {300, 390}}));
  EXPECT_TRUE(line.whole.empty());
}

TEST(Timeline, TwoExecutionsOfKBesideEachOther) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k");
  device.run(k, 7, 100, 200);
  device.run(k, 8, 150, 250);
  const DeviceTimeline line = timeline_of(device);
  EXPECT_EQ(line.alone.spans(), (Spans{{100, 250}}));
  EXPECT_TRUE(line.beside.empty());
  EXPECT_TRUE(line.whole.empty()) << "neither is alone from start to end";
  ASSERT_EQ(line.runs[1].at_start.size(), 1u) << "but each is what ran beside the other";
}

TEST(Timeline, ExecutionsWithoutLength) {
  PlantedDevice device;
  const ShapeId k = device.kernel("k"), other = device.kernel("other");
  device.run(k, 7, 100, 100);
  device.run(other, 8, 100, 200);
  device.run(k, 7, 150, 150);
  const DeviceTimeline line = timeline_of(device);
  EXPECT_EQ(line.runs.size(), 2u);
  EXPECT_TRUE(line.alone.empty());
  EXPECT_TRUE(line.beside.empty());
}

// Against one state per nanosecond, on random streams: a stream's own kernels follow each other without overlap.
TEST(Timeline, AgreesWithBruteForce) {
  std::mt19937 random{11};
  for (int round = 0; round < 60; ++round) {
    PlantedDevice device;
    const ShapeId k = device.kernel("k"), other = device.kernel("other");
    constexpr int64_t length = 600;
    struct Point {
      int k = 0, other = 0;
    };
    std::vector<Point> points(length + 100);
    for (uint32_t stream = 0; stream < 4; ++stream) {
      for (int64_t at = random() % 50; at < length;) {
        const int64_t end = at + 1 + random() % 60;
        const bool is_k = stream == 0 && random() % 2 == 0;
        device.run(is_k ? k : other, stream, at, end);
        for (int64_t t = at; t < end; ++t) {
          ++(is_k ? points[static_cast<size_t>(t)].k : points[static_cast<size_t>(t)].other);
        }
        at = end + random() % 40;
      }
    }
    if (std::ranges::none_of(device.capture.executions, [&](const Execution& e) { return e.shape == k; })) {
      continue;
    }
    const DeviceTimeline line = timeline_of(device);
    for (size_t t = 0; t < points.size(); ++t) {
      const auto time = static_cast<int64_t>(t);
      ASSERT_EQ(line.alone.contains(time), points[t].k > 0 && points[t].other == 0) << round << ' ' << t;
      ASSERT_EQ(line.beside.contains(time), points[t].k > 0 && points[t].other > 0) << round << ' ' << t;
      ASSERT_EQ(line.others.contains(time), points[t].other > 0);
    }
  }
}

}  // namespace
}  // namespace kvet::questions
