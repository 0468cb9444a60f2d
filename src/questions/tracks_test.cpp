#include "questions/tracks.h"

#include <gtest/gtest.h>

#include <limits>

#include "questions/nccl_planted.h"
#include "questions/planted_device.h"
#include "questions/told_timeline.h"

namespace kvet::questions {
namespace {

using Spans = std::vector<std::pair<int64_t, int64_t>>;
Spans spans(const std::vector<ToldSlice>& slices) {
  Spans result;
  for (const ToldSlice& slice : slices) {
    result.emplace_back(slice.start_ns, slice.end_ns);
  }
  return result;
}

ApiCall call(ApiKind kind, uint32_t correlation, int64_t start, int64_t end, int32_t thread = 10) {
  ApiCall one;
  one.thread_id = thread;
  one.kind = kind;
  one.correlation_id = correlation;
  one.start_ns = start;
  one.end_ns = end;
  return one;
}

TEST(Tracks, StreamsHoldKernelsAndCopiesWithWhatIsKnownOfThem) {
  PlantedDevice device;
  device.capture.processes[0].pid = 4711;
  const ShapeId scale = device.kernel("_Z5scalePfi", 256, 40, 2048, 132);
  device.run(scale, 7, 100, 200).correlation_id = 5;
  device.run(scale, 9, 150, 250).correlation_id = 6;
  Transfer copy;
  copy.stream_id = 7;
  copy.context_id = 1;
  copy.bytes = 4096;
  copy.kind = TransferKind::host_to_device;
  copy.correlation_id = 4;
  copy.start_ns = 50;
  copy.end_ns = 90;
  device.capture.transfers.push_back(copy);
  const ToldTimeline told(device.capture);

  const auto work = told.of(TrackKind::stream);
  ASSERT_EQ(spans(work), (Spans{{50, 90}, {100, 200}, {150, 250}}));
  EXPECT_EQ(told.track(work[0]).name, "Stream 7");
  EXPECT_EQ(work[0].track, work[1].track);
  EXPECT_EQ(told.track(work[2]).name, "Stream 9");
  EXPECT_EQ(work[0].category, "copy");
  EXPECT_EQ(work[0].arguments.at("bytes"), "4096");
  EXPECT_EQ(work[1].name, "scale(float*, int)");
  EXPECT_EQ(work[1].arguments, (std::map<std::string, std::string>{{"grid", "132 x 1 x 1"},
                                                                   {"block", "256 x 1 x 1"},
                                                                   {"registers_per_thread", "40"},
                                                                   {"static_shared_bytes", "0"},
                                                                   {"dynamic_shared_bytes", "2048"},
                                                                   {"correlation_id", "5"}}));
  const TimelineTrack& of_device = told.tracks[told.track(work[0]).parent->value];
  EXPECT_EQ(of_device.kind, TrackKind::process_device);
  EXPECT_EQ(told.tracks[of_device.parent->value].pid, 4711);
}

TEST(Tracks, WorkThatOverlapsInsideAStreamGetsLanes) {
  PlantedDevice device;
  const ShapeId kernel = device.kernel("k");
  device.run(kernel, 7, 0, 100);
  device.run(kernel, 7, 90, 200);  // programmatic dependent launch
  device.run(kernel, 7, 200, 300);
  const ToldTimeline told(device.capture);
  const auto work = told.of(TrackKind::stream);
  ASSERT_EQ(work.size(), 3U);
  EXPECT_NE(work[0].track, work[1].track);
  EXPECT_EQ(work[0].track, work[2].track);
  EXPECT_EQ(told.track(work[1]).name, told.track(work[0]).name);
  EXPECT_EQ(told.track(work[1]).parent, told.track(work[0]).parent);
  EXPECT_EQ(told.track(work[1]).lane, 1U);
}

TEST(Tracks, LaunchesLeadToWhatTheyStarted) {
  PlantedDevice device;
  const ShapeId kernel = device.kernel("k");
  device.run(kernel, 7, 100, 200).correlation_id = 1;
  for (const uint64_t node : {11, 12, 13}) {  // one graph launch, three nodes, two of them side by side
    Execution& execution = device.run(kernel, 7, node == 13 ? 400 : 300, node == 13 ? 450 : 390);
    execution.correlation_id = 2;
    execution.graph_id = 3;
    execution.graph_node_id = node;
  }
  device.run(kernel, 7, 500, 600).correlation_id = 99;  // its call was not recorded
  Execution& other = device.run(kernel, 7, 700, 800);  // of another process, same correlation id
  other.correlation_id = 1;
  other.process = ProcessId{1};
  device.capture.api_calls = {call(ApiKind::launch_kernel, 1, 10, 20), call(ApiKind::wait_for_queue, 1, 12, 18),
                              call(ApiKind::launch_graph, 2, 30, 40)};
  const ToldTimeline told(device.capture);

  const auto calls = told.of(TrackKind::thread);
  ASSERT_EQ(spans(calls), (Spans{{10, 20}, {12, 18}, {30, 40}}));
  EXPECT_EQ(calls[0].starts_flows.size(), 1U);
  EXPECT_TRUE(calls[1].starts_flows.empty());
  EXPECT_EQ(calls[2].starts_flows.size(), 3U);
  const auto eager = told.of(TrackKind::stream), nodes = told.of(TrackKind::graph_node),
             replays = told.of(TrackKind::graph);
  ASSERT_EQ(eager.size(), 3U);
  EXPECT_EQ(eager[0].ends_flow, calls[0].starts_flows[0]);
  EXPECT_FALSE(eager[1].ends_flow);
  EXPECT_FALSE(eager[2].ends_flow);
  ASSERT_EQ(nodes.size(), 3U);
  std::vector<uint64_t> reached;
  reached.reserve(nodes.size());
  for (const ToldSlice& node : nodes) {
    reached.push_back(node.ends_flow.value_or(0));
  }
  EXPECT_EQ(reached, calls[2].starts_flows);
  EXPECT_EQ(nodes[1].arguments.at("graph_node_id"), "12");
  EXPECT_NE(nodes[0].track, nodes[1].track);
  ASSERT_EQ(spans(replays), (Spans{{300, 450}}));
  EXPECT_EQ(replays[0].name, "graph 3");
  EXPECT_EQ(replays[0].arguments.at("nodes"), "3");
}

TEST(Tracks, ThreadsRunWaitAndAreBlocked) {
  PlantedDevice device;
  device.capture.strings.emplace_back("greedy");
  const StringId greedy{static_cast<uint32_t>(device.capture.strings.size() - 1)};
  device.capture.api_calls = {call(ApiKind::launch_kernel, 1, 1000, 1100),
                              call(ApiKind::synchronize_stream, 2, 1200, 2000)};
  auto off = [&](OffCpuReason reason, int64_t start, int64_t wake, int64_t end, int32_t thread = 10) {
    OffCpu one;
    one.thread_id = thread;
    one.reason = reason;
    one.start_ns = start;
    one.wake_ns = wake;
    one.end_ns = end;
    one.cpu = 3;
    one.taker_thread_id = 77;
    one.taker_name = greedy;
    device.capture.off_cpu.push_back(one);
  };
  off(OffCpuReason::preempted, 1020, 1020, 1050);
  off(OffCpuReason::poll, 1300, 1900, 1950);
  off(OffCpuReason::throttled, 2000, 2000, 2400);
  off(OffCpuReason::sleep, 2500, 2600, 2600, 11);  // launches nothing
  const ToldTimeline told(device.capture);
  const auto states = told.of(TrackKind::thread_state);
  EXPECT_EQ(spans(states),
            (Spans{{1000, 1020}, {1020, 1050}, {1050, 1300}, {1300, 1900}, {1900, 1950}, {1950, 2000}, {2000, 2400}}));
  std::vector<std::string> names;
  names.reserve(states.size());
  for (const ToldSlice& state : states) {
    names.push_back(state.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"running", "preempted", "running", "blocked: poll", "waiting for a CPU",
                                             "running", "throttled"}));
  EXPECT_EQ(states[1].arguments.at("cpu_taken_by"), "greedy");
  EXPECT_EQ(states[1].arguments.at("cpu_taken_by_thread"), "77");
  EXPECT_EQ(states[4].arguments.at("cpu_taken_by"), "greedy");
  EXPECT_FALSE(states[3].arguments.contains("cpu_taken_by"));  // it did not want one
  EXPECT_TRUE(states[0].arguments.empty());
}

TEST(Tracks, WithoutTheSchedulerNobodyIsSaidToRun) {
  PlantedDevice device;
  device.capture.api_calls = {call(ApiKind::launch_kernel, 1, 1000, 1100)};
  EXPECT_TRUE(ToldTimeline(device.capture).of(TrackKind::thread_state).empty());
}

TEST(Tracks, CollectivesWaitAndTransferApart) {
  RanksPlan plan;
  plan.slow_rank = 2;
  for (const bool graph : {false, true}) {
    plan.graph = graph;
    PlantedRanks ranks(plan);
    ranks.run();
    const ToldTimeline told(ranks.capture);
    std::map<uint32_t, double> waited;
    std::map<uint32_t, int64_t> transferred;
    std::map<uint32_t, int> transfers;
    for (const ToldSlice& slice : told.of(TrackKind::collectives)) {
      const uint32_t rank = told.track(slice).parent->value;  // its device: counted in the order of ranks
      if (slice.category == "arrival wait") {
        waited[rank] += static_cast<double>(slice.end_ns - slice.start_ns);
      } else {
        EXPECT_EQ(slice.category, "transfer");
        transferred[rank] += slice.end_ns - slice.start_ns;
        ++transfers[rank];
      }
    }
    ASSERT_EQ(waited.size(), 4U);
    std::vector<double> by_rank;
    by_rank.reserve(waited.size());
    for (const auto& [track, sum] : waited) {
      by_rank.push_back(sum);
    }
    const int collectives = plan.steps * plan.layers;
    for (uint32_t rank = 0; rank < plan.ranks; ++rank) {
      // The ranks' clocks are aligned by noise of nanoseconds.
      EXPECT_NEAR(by_rank[rank], ranks.waited[rank], 1e-3 * ranks.waited[rank] + 1000);
    }
    for (const auto& [track, sum] : transferred) {
      EXPECT_EQ(transfers[track], collectives);
      EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(collectives * PlantedRanks::transfer_ns), 1000);
    }
  }
}

TEST(Tracks, CountersOfADeviceAreWhatItDid) {
  PlantedDevice device;
  const ShapeId kernel = device.kernel("_Z4busyv", 256, 32, 0, 1056);
  // 4224 of 8448 warp slots, and half of 4.8 TB/s.
  device.run(kernel, 7, 100'000, 300'000,
             {.warps = 4224, .read_bytes_per_ns = 1800, .write_bytes_per_ns = 600, .registers = 4224 * 32 * 32});
  // 95% of the theoretical peak.
  device.run(kernel, 7, 400'000, 500'000, {.warps = 8448, .read_bytes_per_ns = 4560, .registers = 8448 * 32 * 32});
  device.sample(0, 600'000, 100'000);
  std::erase_if(device.capture.samples, [](const Sample& sample) { return sample.start_ns == 300'000; });
  DeviceReading reading;
  reading.time_ns = 250'000;
  reading.power_milliwatts = 654'321;
  reading.sm_clock_mhz = 1980;
  device.capture.device_readings.push_back(reading);
  const ToldTimeline told(device.capture);

  auto values = [&](std::string_view name) {
    std::map<int64_t, double> result;
    for (const TimelineCounter& value : told.counter(name)) {
      result[value.time_ns] = value.value;
    }
    return result;
  };
  using Values = std::map<int64_t, double>;
  EXPECT_EQ(values("SM occupancy"), (Values{{0, 0}, {100'000, 50}, {200'000, 50}, {400'000, 100}, {500'000, 0}}));
  EXPECT_EQ(values("DRAM read"),
            (Values{{0, 0}, {100'000, 1.8e12}, {200'000, 1.8e12}, {400'000, 4.56e12}, {500'000, 0}}));
  EXPECT_EQ(values("DRAM write"), (Values{{0, 0}, {100'000, 6e11}, {200'000, 6e11}, {400'000, 0}, {500'000, 0}}));
  EXPECT_DOUBLE_EQ(values("DRAM, of theoretical peak").at(400'000), 95);
  EXPECT_EQ(values("SM clock").at(0), 1000);  // the planted clock is 1 GHz
  EXPECT_EQ(values("Power"), (Values{{250'000, 654.321}}));
  EXPECT_EQ(values("SM clock (NVML)"), (Values{{250'000, 1980}}));
  EXPECT_EQ(spans(told.of(TrackKind::saturation)), (Spans{{400'000, 500'000}}));
  EXPECT_EQ(spans(told.of(TrackKind::unsampled)), (Spans{{300'000, 400'000}}));

  // One kernel alone: what the device had is its own. It is told where it changes.
  const Values own = values("Occupancy: busy()");
  ASSERT_EQ(own.size(), 3U);
  EXPECT_NEAR(own.at(100'000), 50, 1);
  EXPECT_NEAR(own.at(400'000), 100, 1);
  EXPECT_EQ(own.at(500'000), 0);
}

TEST(Tracks, WhatIsNotKnownIsSaid) {
  PlantedDevice device;
  device.run(device.kernel("k"), 7, 1000, 2000);
  device.capture.meta["counters.status"] = "somebody else holds the counters";
  Loss loss;
  loss.source = Source::cupti;
  loss.kind = LossKind::cupti_dropped;
  loss.count = 12;
  loss.first_ns = 1200;
  loss.last_ns = 1500;
  device.capture.losses = {loss, loss};
  device.capture.losses[1].first_ns = device.capture.losses[1].last_ns = std::nullopt;
  const ToldTimeline told(device.capture);
  const auto gaps = told.of(TrackKind::unsampled);
  ASSERT_EQ(spans(gaps), (Spans{{1000, 2000}}));
  EXPECT_EQ(gaps[0].name, "no samples: somebody else holds the counters");
  EXPECT_TRUE(told.counters.empty());
  const auto losses = told.of(TrackKind::losses);
  ASSERT_EQ(spans(losses), (Spans{{1000, 2000}, {1200, 1500}}));
  EXPECT_EQ(losses[1].name, "CUPTI: CUPTI had no buffer for them");
  EXPECT_EQ(losses[1].arguments.at("records"), "12");
}

TEST(Tracks, ReusedPidsAreNotTakenForOneProcess) {
  PlantedDevice device;
  device.capture.processes[0].pid = device.capture.processes[1].pid = 42;
  const ShapeId kernel = device.kernel("k");
  device.run(kernel, 7, 0, 10);
  device.run(kernel, 7, 20, 30).process = ProcessId{1};
  const ToldTimeline told(device.capture);
  std::vector<std::string> names;
  for (const TimelineTrack& track : told.tracks) {
    if (track.kind == TrackKind::process) {
      EXPECT_FALSE(track.pid);
      names.push_back(track.name);
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"process, pid 42 (process 0)", "process, pid 42 (process 1)"}));
}

TEST(Tracks, AnEmptyCaptureAndTimesAtTheLimits) {
  const ToldTimeline nothing{Capture{}};
  EXPECT_TRUE(nothing.tracks.empty());

  constexpr int64_t limit = 4'000'000'000'000'000'000;  // of times in a capture
  PlantedDevice device;
  const ShapeId kernel = device.kernel("");
  device.run(kernel, 7, -limit, limit);
  device.run(kernel, 7, -limit, -limit);
  device.run(kernel, 8, limit, limit);
  device.capture.api_calls = {call(ApiKind::launch_kernel, 1, -limit, limit),
                              call(ApiKind::launch_kernel, 1, -limit, limit)};
  const ToldTimeline told(device.capture);
  EXPECT_EQ(told.clock.first_ns, -limit);
  EXPECT_EQ(told.clock.last_ns, limit);
  EXPECT_EQ(told.of(TrackKind::stream).size(), 3U);
  EXPECT_EQ(told.of(TrackKind::thread).size(), 2U);
}

}  // namespace
}  // namespace kvet::questions
