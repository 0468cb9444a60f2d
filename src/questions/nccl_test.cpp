#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "questions/nccl_parts.h"
#include "questions/questions.h"

namespace kvet::questions {
namespace {

constexpr int32_t float32 = 7;  // ncclFloat32
constexpr uint64_t mebi_floats = 1 << 20;

// Ranks are processes here, rank r on device r, with the communicator at address 0xA0 + r. Shape 0 is K, shape 1 an
// all-reduce, shape 2 a broadcast.
class Planted {
 public:
  Capture capture;

  explicit Planted(uint32_t ranks, int32_t communicator_size = 0) {
    capture.meta["tier"] = "device";
    capture.strings = {"", "k", "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
                       "_Z31ncclDevKernel_Broadcast_RING_LL24ncclDevKernelArgsStorageILm4096EE", "00aa"};
    for (uint32_t shape = 0; shape < 3; ++shape) {
      KernelShape entry;
      entry.id = ShapeId{shape};
      entry.name = StringId{1 + shape};
      capture.shapes.push_back(entry);
    }
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      Process process;
      process.id = ProcessId{rank};
      process.pid = 100 + static_cast<int32_t>(rank);
      capture.processes.push_back(process);
      Device device;
      device.id = DeviceId{rank};
      capture.devices.push_back(device);
      if (communicator_size >= 0) {
        Communicator communicator;
        communicator.process = ProcessId{rank};
        communicator.communicator = 0xA0 + rank;
        communicator.rank = static_cast<int32_t>(rank);
        communicator.ranks = communicator_size > 0 ? communicator_size : static_cast<int32_t>(ranks);
        communicator.unique_id = StringId{4};
        communicator.created_ns = -1000;
        capture.communicators.push_back(communicator);
      }
    }
  }

  CollectiveCall& call(uint32_t rank, CollectiveKind kind, int64_t start, int64_t end, uint64_t count = mebi_floats) {
    CollectiveCall entry;
    entry.process = ProcessId{rank};
    entry.thread_id = 100 + static_cast<int32_t>(rank);
    entry.kind = kind;
    entry.communicator = 0xA0 + rank;
    entry.count = count;
    entry.data_type = float32;
    entry.start_ns = start;
    entry.end_ns = end;
    capture.collective_calls.push_back(entry);
    return capture.collective_calls.back();
  }
  void launch(uint32_t rank, uint32_t correlation, int64_t start, int64_t end) {
    ApiCall entry;
    entry.process = ProcessId{rank};
    entry.thread_id = 100 + static_cast<int32_t>(rank);
    entry.correlation_id = correlation;
    entry.start_ns = start;
    entry.end_ns = end;
    capture.api_calls.push_back(entry);
  }
  Execution& run(uint32_t rank, uint32_t shape, uint32_t correlation, int64_t start, int64_t end) {
    Execution entry;
    entry.process = ProcessId{rank};
    entry.device = DeviceId{rank};
    entry.shape = ShapeId{shape};
    entry.context_id = 1;
    entry.stream_id = shape == 0 ? 7 : 20;
    entry.correlation_id = correlation;
    entry.start_ns = start;
    entry.end_ns = end;
    capture.executions.push_back(entry);
    return capture.executions.back();
  }
  // A whole collective of one rank: a call of 50 ns that launches for 30, and the kernel.
  void collective(uint32_t rank, CollectiveKind kind, int64_t called, int64_t start, int64_t end, int32_t root = -1,
                  uint64_t count = mebi_floats) {
    call(rank, kind, called, called + 50, count).peer_or_root = root;
    launch(rank, ++correlation_, called + 10, called + 40);
    run(rank, kind == CollectiveKind::broadcast ? 2 : 1, correlation_, start, end);
  }

  void sort() {
    std::ranges::stable_sort(capture.api_calls, {}, &ApiCall::start_ns);
    std::ranges::stable_sort(capture.executions, {}, &Execution::start_ns);
    std::ranges::stable_sort(capture.collective_calls, {}, &CollectiveCall::start_ns);
  }
  // By "id" and, for a rank's own, "id @ rank 1". Subjects other than the pooled one and K are left out.
  std::map<std::string, Finding> ask(const std::string& subject_begin = "collectives: all") {
    sort();
    KernelSet set;
    set.label = "k";
    set.has_shape = {true, false, false};
    std::map<std::string, Finding> by_id;
    for (Finding& finding : nccl(capture, set)) {
      EXPECT_EQ(finding.question, Question::nccl);
      EXPECT_EQ(finding.value.has_value(), finding.evidence != Evidence::unavailable) << finding.id;
      if (finding.subject == "k" || finding.subject.starts_with(subject_begin)) {
        by_id[finding.id + (finding.beside.empty() ? "" : " @ " + finding.beside)] = finding;
      }
    }
    return by_id;
  }

 private:
  uint32_t correlation_ = 0;
};

// Five all-reduces, 100 µs apart. Rank 1 comes 14 µs late in the first four since its call is late; in the fifth rank 0 is
// late although its call was early. All end together, 6 µs after the late one began.
Planted two_ranks(int32_t communicator_size = 0) {
  Planted planted(2, communicator_size);
  for (int64_t index = 0; index < 5; ++index) {
    const int64_t time = index * 100'000;
    planted.collective(0, CollectiveKind::all_reduce, time, time + (index < 4 ? 1'000 : 15'000), time + 21'000);
    planted.collective(1, CollectiveKind::all_reduce, index < 4 ? time + 14'000 : time,
                       time + (index < 4 ? 15'000 : 1'000), time + 21'000);
  }
  return planted;
}

#define EXPECT_VALUE(id, expected)                                 \
  do {                                                             \
    ASSERT_TRUE(findings.contains(id)) << (id);                    \
    ASSERT_TRUE(findings.at(id).value) << findings.at(id).reason;  \
    EXPECT_NEAR(*findings.at(id).value, (expected), 1e-6) << (id); \
  } while (false)

TEST(Nccl, WaitTransferAndStragglerFollowTheDefinition) {
  auto findings = two_ranks().ask();
  EXPECT_VALUE("nccl.collectives", 10);
  EXPECT_VALUE("nccl.arrival_wait.p50 @ rank 0", 14'000);
  EXPECT_VALUE("nccl.arrival_wait.total @ rank 0", 4 * 14'000);
  EXPECT_VALUE("nccl.arrival_wait.p50 @ rank 1", 0);
  EXPECT_VALUE("nccl.arrival_wait.max @ rank 1", 14'000);
  EXPECT_VALUE("nccl.transfer.p50 @ rank 0", 6'000);
  EXPECT_VALUE("nccl.transfer.max @ rank 1", 6'000);
  EXPECT_VALUE("nccl.straggler.share @ rank 1", 80);
  EXPECT_VALUE("nccl.straggler.share @ rank 0", 20);
  EXPECT_VALUE("nccl.straggler.margin.max @ rank 1", 14'000);
  EXPECT_EQ(findings.at("nccl.arrival_wait.p50 @ rank 0").evidence, Evidence::measured);
  EXPECT_EQ(findings.at("nccl.arrival_wait.p50 @ rank 0").observations, 5u);
  EXPECT_NE(findings.at("nccl.arrival_wait.p50 @ rank 0").subject.find("all_reduce of 4 MiB"), std::string::npos);
}

TEST(Nccl, ALateCallIsToldFromALateDevice) {
  auto findings = two_ranks().ask();
  EXPECT_VALUE("nccl.straggler.late_call @ rank 1", 100);
  EXPECT_VALUE("nccl.straggler.late_call @ rank 0", 0);
}

TEST(Nccl, CallEnqueueAndDeviceTimesNeedOneRankOnly) {
  auto findings = two_ranks().ask();
  EXPECT_VALUE("nccl.call.p50 @ rank 0", 50);
  EXPECT_VALUE("nccl.enqueue.p50 @ rank 0", 30);
  EXPECT_VALUE("nccl.device_time.p50 @ rank 0", 20'000);
  EXPECT_VALUE("nccl.device_time.p50 @ rank 1", 6'000);
}

// Rank 1's clock is 6 µs behind in every collective, and its ends scatter by 1 µs to either side around that.
TEST(Nccl, ClocksAreAlignedByEndsAndTheResidualIsInTheIntervals) {
  Planted planted(2);
  for (int64_t index = 0; index < 10; ++index) {
    const int64_t at = index * 100'000, scatter = index % 2 == 0 ? 1'000 : -1'000;
    planted.collective(0, CollectiveKind::all_reduce, at, at + 1'000, at + 21'000);
    planted.collective(1, CollectiveKind::all_reduce, at, at + 15'000, at + 27'000 + scatter);
  }
  auto findings = planted.ask();
  EXPECT_NEAR(*findings.at("nccl.clock_residual").value, 500,
              500);  // the scatter, half of it on either side of the middle
  const auto& wait = findings.at("nccl.arrival_wait.p50 @ rank 0");
  EXPECT_NEAR(*wait.value, 8'000, 1'000);  // 14 µs between the starts, less 6 µs between the clocks
  ASSERT_TRUE(wait.interval);
  const double residual = *findings.at("nccl.clock_residual").value;
  EXPECT_EQ(wait.interval->low, *wait.value - residual);
  EXPECT_EQ(wait.interval->high, *wait.value + residual);
  EXPECT_EQ(findings.at("nccl.arrival_wait.p50 @ rank 1").interval->low, 0);
}

TEST(Nccl, ARankThatMissedTheBeginningIsShiftedIntoPlace) {
  Planted planted = two_ranks();
  planted.sort();
  // The first collective of rank 1 was before the window.
  std::erase_if(planted.capture.collective_calls,
                [](const CollectiveCall& call) { return call.process.value == 1 && call.start_ns < 50'000; });
  std::erase_if(planted.capture.executions,
                [](const Execution& execution) { return execution.process.value == 1 && execution.start_ns < 50'000; });
  auto findings = planted.ask();
  EXPECT_VALUE("nccl.arrival_wait.total @ rank 0", 3 * 14'000);
  EXPECT_VALUE("nccl.straggler.share @ rank 1", 75);
  EXPECT_VALUE("nccl.unmatched", 1);
}

TEST(Nccl, RanksThatNeverOverlapAreNotMatched) {
  Planted planted(2);
  for (int64_t index = 0; index < 20; ++index) {
    planted.collective(0, CollectiveKind::all_reduce, index * 100'000, index * 100'000 + 1'000,
                       index * 100'000 + 2'000);
    planted.collective(1, CollectiveKind::all_reduce, index * 100'000 + 50'000, index * 100'000 + 51'000,
                       index * 100'000 + 52'000);
  }
  auto findings = planted.ask();
  ASSERT_TRUE(findings.contains("nccl.arrival_wait"));
  EXPECT_FALSE(findings.at("nccl.arrival_wait").value);
  EXPECT_NE(findings.at("nccl.arrival_wait").reason.find("never overlap"), std::string::npos);
}

TEST(Nccl, OnlyTheRootIsWaitedForInABroadcast) {
  Planted planted(3);
  for (int64_t time : {0, 100'000, 200'000}) {
    planted.collective(0, CollectiveKind::broadcast, time, time + 3'000, time + 9'000, 0);  // the root
    planted.collective(1, CollectiveKind::broadcast, time, time + 1'000, time + 9'000, 0);
    planted.collective(2, CollectiveKind::broadcast, time, time + 5'000, time + 9'000,
                       0);  // last, but nobody's concern
  }
  auto findings = planted.ask();
  EXPECT_VALUE("nccl.arrival_wait.p50 @ rank 0", 0);
  EXPECT_VALUE("nccl.arrival_wait.p50 @ rank 1", 2'000);
  EXPECT_VALUE("nccl.arrival_wait.p50 @ rank 2", 0);
  EXPECT_VALUE("nccl.transfer.p50 @ rank 0", 6'000);
  EXPECT_VALUE("nccl.transfer.p50 @ rank 2", 4'000);
  EXPECT_FALSE(findings.contains("nccl.straggler.share @ rank 2")) << "a straggler is somebody all others wait for";
}

TEST(Nccl, ARankThatIsDoneBeforeAnotherBeginsWaitsUntilItsEndAtMost) {
  Planted planted(2);
  for (int64_t time : {0, 100'000, 200'000}) {
    planted.collective(0, CollectiveKind::broadcast, time, time + 1'000, time + 3'000);  // the root is not known
    planted.collective(1, CollectiveKind::broadcast, time, time + 5'000, time + 9'000);
  }
  auto findings = planted.ask();
  EXPECT_VALUE("nccl.arrival_wait.p50 @ rank 0", 2'000);
  EXPECT_VALUE("nccl.transfer.p50 @ rank 0", 0);
}

TEST(Nccl, CallsThatNcclMakesInsideACallAreNoCollectives) {
  Planted planted = two_ranks();
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const int64_t inside = rank == 0 ? 1 : 14'001;  // the first call of the rank begins 1 ns before
    planted.call(rank, CollectiveKind::group_start, inside, inside + 1);
    planted.call(rank, CollectiveKind::all_gather, inside + 2, inside + 3);
    planted.call(rank, CollectiveKind::group_end, inside + 4, inside + 45);
  }
  auto findings = planted.ask();
  EXPECT_VALUE("nccl.collectives", 10);
  EXPECT_VALUE("nccl.straggler.share @ rank 1", 80);
  EXPECT_EQ(findings.at("nccl.call.p50 @ rank 0").observations, 5u);
}

TEST(Nccl, AGroupIsOneCollective) {
  Planted planted(2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    planted.call(rank, CollectiveKind::group_start, 0, 1);
    planted.call(rank, CollectiveKind::all_reduce, 10, 11);
    planted.call(rank, CollectiveKind::all_reduce, 20, 21);
    planted.call(rank, CollectiveKind::group_end, 30, 90);
    planted.launch(rank, 5, 40, 80);
    planted.run(rank, 1, 5, 1'000 + 500 * rank, 4'000);
  }
  auto findings = planted.ask();
  EXPECT_VALUE("nccl.collectives", 2);
  EXPECT_VALUE("nccl.arrival_wait.max @ rank 0", 500);
  EXPECT_VALUE("nccl.enqueue.max @ rank 0", 40);
  EXPECT_NE(findings.at("nccl.arrival_wait.max @ rank 0").subject.find("group of 2 all_reduce of 8 MiB"),
            std::string::npos)
      << findings.at("nccl.arrival_wait.max @ rank 0").subject;
}

// ncclCommInitAll: one process is all ranks, and one thread enqueues for all of them in one group.
TEST(Nccl, OneProcessMayBeSeveralRanks) {
  Planted planted(1);
  planted.capture.communicators.clear();
  planted.capture.devices.resize(2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    planted.capture.devices[rank].id = DeviceId{rank};
    Communicator communicator;
    communicator.communicator = 0xC0 + rank;
    communicator.rank = static_cast<int32_t>(rank);
    communicator.ranks = 2;
    communicator.unique_id = StringId{4};
    communicator.created_ns = -1;
    planted.capture.communicators.push_back(communicator);
  }
  planted.call(0, CollectiveKind::group_start, 0, 1);
  planted.call(0, CollectiveKind::all_reduce, 10, 11).communicator = 0xC0;
  planted.call(0, CollectiveKind::all_reduce, 20, 21).communicator = 0xC1;
  planted.call(0, CollectiveKind::group_end, 30, 90);
  planted.launch(0, 5, 40, 50);
  planted.launch(0, 6, 60, 80);
  planted.run(0, 1, 5, 1'000, 9'000);
  planted.run(0, 1, 6, 4'000, 9'000).device = DeviceId{1};
  auto findings = planted.ask();
  EXPECT_VALUE("nccl.arrival_wait.max @ rank 0", 3'000);
  EXPECT_VALUE("nccl.enqueue.max @ rank 1", 20);
  EXPECT_VALUE("nccl.straggler.share @ rank 1", 100);
  EXPECT_EQ(findings.at("nccl.arrival_wait.max @ rank 0").evidence, Evidence::measured);
}

TEST(Nccl, ReplayedGraphNodesAreMatchedInOrder) {
  Planted planted(2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    planted.call(rank, CollectiveKind::all_reduce, 0, 50);  // captured: launches nothing that executes
    for (int64_t replay = 0; replay < 4; ++replay) {
      for (uint64_t node = 0; node < 2; ++node) {
        const int64_t time = 100'000 + replay * 50'000 + static_cast<int64_t>(node) * 20'000;
        Execution& execution =
            planted.run(rank, 1, static_cast<uint32_t>(900 + replay), time + 700 * rank, time + 10'000);
        execution.graph_id = 3 + rank;  // ids are a process's own
        execution.graph_node_id = 1'000 * (rank + 1) + node;
      }
    }
  }
  auto findings = planted.ask();
  EXPECT_VALUE("nccl.collectives", 16);
  EXPECT_VALUE("nccl.arrival_wait.p50 @ rank 0", 700);
  EXPECT_EQ(findings.at("nccl.arrival_wait.p50 @ rank 0").observations, 8u);
  EXPECT_VALUE("nccl.straggler.share @ rank 1", 100);
  EXPECT_EQ(findings.at("nccl.arrival_wait.p50 @ rank 0").evidence, Evidence::attributed)
      << "by order, not by communicator";
}

TEST(Nccl, WithoutCallsKernelsAreMatchedByOrderAndThatIsSaid) {
  Planted planted = two_ranks(-1);
  planted.capture.collective_calls.clear();
  auto findings = planted.ask();
  EXPECT_VALUE("nccl.arrival_wait.total @ process 100, device 0", 4 * 14'000);
  const auto& wait = findings.at("nccl.arrival_wait.total @ process 100, device 0");
  EXPECT_EQ(wait.evidence, Evidence::attributed);
  EXPECT_NE(wait.sentence.find("by order"), std::string::npos);
  EXPECT_FALSE(findings.at("nccl.call @ process 100, device 0").value);
}

TEST(Nccl, RanksOutOfSightMakeALowerBound) {
  auto findings = two_ranks(4).ask();
  EXPECT_VALUE("nccl.arrival_wait.p50 @ rank 0", 14'000);
  EXPECT_EQ(findings.at("nccl.arrival_wait.p50 @ rank 0").evidence, Evidence::attributed);
  EXPECT_NE(findings.at("nccl.arrival_wait.p50 @ rank 0").sentence.find("lower bound"), std::string::npos);
}

TEST(Nccl, OneRankAloneSaysWhatIsMissing) {
  Planted planted(1, 2);
  planted.collective(0, CollectiveKind::all_reduce, 0, 1'000, 9'000);
  auto findings = planted.ask();
  EXPECT_VALUE("nccl.device_time.max @ rank 0", 8'000);
  for (const char* id : {"nccl.arrival_wait", "nccl.transfer", "nccl.straggler.share"}) {
    ASSERT_TRUE(findings.contains(id)) << id;
    EXPECT_FALSE(findings.at(id).value);
    EXPECT_NE(findings.at(id).reason.find("one rank"), std::string::npos);
    EXPECT_NE(findings.at(id).advice.find("all ranks"), std::string::npos);
  }
}

TEST(Nccl, WithoutCollectivesNothingIsInvented) {
  Planted planted(1);
  planted.run(0, 0, 1, 0, 1'000);
  auto findings = planted.ask();
  EXPECT_VALUE("nccl.collectives", 0);
  for (const char* id : {"nccl.contention.transfer", "nccl.blame", "nccl.correlation"}) {
    EXPECT_FALSE(findings.at(id).value);
    EXPECT_NE(findings.at(id).reason.find("no collective ran"), std::string::npos);
  }
}

TEST(Nccl, ContentionComparesLikeWithLike) {
  Planted planted(2);
  for (int64_t index = 0; index < 40; ++index) {
    const int64_t time = index * 100'000;
    const bool beside = index % 2 == 1;
    const uint64_t count = index % 4 < 2 ? mebi_floats : 2 * mebi_floats;
    const int64_t alone = index % 4 < 2 ? 6'000 : 10'000;
    const int64_t transfer = beside ? alone * 3 / 2 : alone;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      planted.collective(rank, CollectiveKind::all_reduce, time, time + 1'000, time + 1'000 + transfer, -1, count);
      if (beside) {
        planted.run(rank, 0, 0, time + 500, time + 3'000);
      }
    }
  }
  auto findings = planted.ask();
  EXPECT_VALUE("nccl.contention.transfer", 1.5);
  ASSERT_TRUE(findings.at("nccl.contention.transfer").interval);
  EXPECT_NEAR(findings.at("nccl.contention.transfer").interval->low, 1.5, 1e-9);
  EXPECT_EQ(findings.at("nccl.contention.transfer").observations, 40u);
  findings = planted.ask("collectives: all_reduce of 8 MiB");
  EXPECT_VALUE("nccl.transfer.max @ rank 0", 15'000);
}

TEST(Nccl, CommunicatorsOfASplitAreToldApartByParentAndColor) {
  Planted planted(4);
  // Ranks 0 and 2 are one part, ranks 1 and 3 the other. Neither id, rank nor size of a split is recorded.
  for (uint32_t rank = 0; rank < 4; ++rank) {
    Communicator split;
    split.process = ProcessId{rank};
    split.communicator = 0xB0 + rank;
    split.parent = 0xA0 + rank;
    split.color = static_cast<int32_t>(rank % 2);
    split.created_ns = -500;
    planted.capture.communicators.push_back(split);
    for (int64_t index = 0; index < 3; ++index) {
      const int64_t time = index * 100'000 + (rank % 2) * 50'000;
      planted.collective(rank, CollectiveKind::all_reduce, time, time + 1'000 * (rank + 1), time + 20'000);
      planted.capture.collective_calls.back().communicator = split.communicator;
    }
  }
  auto findings = planted.ask();
  EXPECT_EQ(findings.at("nccl.transfer.max @ rank 0").evidence, Evidence::measured) << "the whole parent is in sight";
  EXPECT_VALUE("nccl.arrival_wait.max @ rank 0", 2'000);  // waits for rank 2
  EXPECT_VALUE("nccl.arrival_wait.max @ rank 1", 2'000);  // waits for rank 3
  EXPECT_VALUE("nccl.arrival_wait.max @ rank 3", 0);
}

// Two splits of one parent with the same color are two communicators, each with its own numbering.
TEST(Nccl, SplitsOfOneParentAreNumbered) {
  Planted planted(2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    for (uint64_t number = 0; number < 2; ++number) {
      Communicator split;
      split.process = ProcessId{rank};
      split.communicator = 0xB0 + 16 * number + rank;
      split.parent = 0xA0 + rank;
      split.created_ns = -500 + static_cast<int64_t>(number);
      planted.capture.communicators.push_back(split);
    }
    for (int64_t index = 0; index < 40; ++index) {
      // The ranks use the two in opposite order, both within 100 µs: matched by time alone they would be mixed up.
      for (uint64_t number : {uint64_t{rank}, uint64_t{1 - rank}}) {
        const int64_t time = index * 100'000 + static_cast<int64_t>(number) * 10'000;
        planted.collective(rank, CollectiveKind::all_reduce, time, time + 1'000 + 500 * rank, time + 5'000);
        planted.capture.collective_calls.back().communicator = 0xB0 + 16 * number + rank;
      }
    }
  }
  planted.sort();
  const Collectives all = find_collectives(planted.capture);
  ASSERT_EQ(all.sequences.size(), 2u);
  for (const Sequence& sequence : all.sequences) {
    EXPECT_EQ(sequence.by, Sequence::By::communicator);
    EXPECT_EQ(sequence.ranks_expected, 2u);
    ASSERT_EQ(sequence.ranks.size(), 2u);
    EXPECT_EQ(sequence.ranks[0].size(), 40u);
  }
  auto findings = planted.ask();
  EXPECT_VALUE("nccl.arrival_wait.max @ rank 0", 500);
  EXPECT_EQ(findings.at("nccl.arrival_wait.max @ rank 0").observations, 80u);
}

// Each rank sends to the other and receives from it, in one group that runs as one kernel; rank 1 comes 5 µs late.
TEST(Nccl, SendsAndReceivesWaitForTheirPeers) {
  Planted planted(2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    for (int64_t index = 0; index < 10; ++index) {
      const int64_t time = index * 100'000;
      const auto other = static_cast<int32_t>(1 - rank);
      const auto correlation = static_cast<uint32_t>(100 * rank + index + 1);
      planted.call(rank, CollectiveKind::group_start, time, time + 1);
      planted.call(rank, CollectiveKind::send, time + 10, time + 11).peer_or_root = other;
      planted.call(rank, CollectiveKind::receive, time + 20, time + 21).peer_or_root = other;
      planted.call(rank, CollectiveKind::group_end, time + 30, time + 90);
      planted.launch(rank, correlation, time + 40, time + 60);
      planted.run(rank, 1, correlation, time + 1'000 + 5'000 * rank, time + 20'000);
    }
  }
  auto findings = planted.ask("sends and receives");
  EXPECT_VALUE("nccl.arrival_wait.p50 @ rank 0", 5'000);
  EXPECT_VALUE("nccl.arrival_wait.max @ rank 1", 0);
  EXPECT_VALUE("nccl.transfer.max @ rank 0", 14'000);
  EXPECT_VALUE("nccl.unmatched", 0);
  EXPECT_EQ(findings.at("nccl.arrival_wait.p50 @ rank 0").evidence, Evidence::measured);
}

TEST(NcclNames, KernelsAndSizes) {
  EXPECT_TRUE(is_nccl_kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"));
  EXPECT_TRUE(is_nccl_kernel("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"));
  EXPECT_FALSE(is_nccl_kernel("my_ncclDevKernel"));
  EXPECT_FALSE(is_nccl_kernel("_Z"));
  EXPECT_EQ(kind_of_kernel("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL"), CollectiveKind::reduce_scatter);
  EXPECT_EQ(kind_of_kernel("ncclDevKernel_Reduce_Sum_f32_RING_LL"), CollectiveKind::reduce);
  EXPECT_FALSE(kind_of_kernel("ncclDevKernel_Generic"));
  EXPECT_EQ(bytes_of_data_type(9), 2u);  // bfloat16
  EXPECT_FALSE(bytes_of_data_type(12));
  EXPECT_FALSE(bytes_of_data_type(-1));
  EXPECT_EQ(to_text({CollectiveKind::all_gather, 1, 3 * 1024}), "all_gather of 3 KiB");
  EXPECT_EQ(to_text({CollectiveKind::all_gather, 1, 1000}), "all_gather of 1000 bytes");
  EXPECT_EQ(to_text({std::nullopt, 3, std::nullopt}), "group of 3 operations, size unknown");
}

}  // namespace
}  // namespace kvet::questions
