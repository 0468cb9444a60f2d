// The decoder of NCCL events, without a kernel.
#include <gtest/gtest.h>

#include <cstring>

#include "abi/bpf_events.h"
#include "probes/kernel/kept_events.h"
#include "probes/nccl/decode.h"

namespace kvet::probes {
namespace {

class NcclDecode : public testing::Test {
 protected:
  NcclDecode() {
    processes_.begin({.pid = 7, .start_ns = 1});
    call_.header = {KVET_EVENT_COLLECTIVE_CALL, sizeof call_, 100, 7, 8};
    call_.return_ns = 250;
    call_.communicator = 0x1000;
    call_.stream = 0x2000;
    call_.count = 1'000'000'000'000;
    call_.data_type = 7;
    call_.peer_or_root = -1;
    call_.operation = KVET_COLLECTIVE_ALL_REDUCE;
    call_.result = 0;
    born_.header = {KVET_EVENT_COMMUNICATOR, sizeof born_, 50, 7, 8};
    born_.return_ns = 90;
    born_.communicator = 0x1000;
    born_.rank = 3;
    born_.ranks = 8;
    born_.id_known = 1;
  }
  template <class Event>
  void decode(const Event& event) {
    decoder_.decode(std::as_bytes(std::span(&event, 1)));
  }

  KeptEvents sink_;
  ProcessDirectory processes_{sink_};
  NcclDecoder decoder_{sink_, processes_};
  kvet_event_collective_call call_{};
  kvet_event_communicator born_{};
};

TEST_F(NcclDecode, ACallArrivesWhole) {
  decode(call_);
  ASSERT_EQ(sink_.collective_calls.size(), 1U);
  const CollectiveCall& call = sink_.collective_calls[0];
  EXPECT_EQ(call.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(call.thread_id, 8);
  EXPECT_EQ(call.communicator, 0x1000U);
  EXPECT_EQ(call.stream_handle, 0x2000U);
  EXPECT_EQ(call.count, 1'000'000'000'000U);
  EXPECT_EQ(call.data_type, 7);
  EXPECT_EQ(call.peer_or_root, -1);
  EXPECT_EQ(call.start_ns, 100);
  EXPECT_EQ(call.end_ns, 250);
}

TEST_F(NcclDecode, ARanksIdIsTheSameTextOnEveryRank) {
  for (unsigned index = 0; index < sizeof born_.id; ++index) {
    born_.id[index] = static_cast<uint8_t>(index * 3);
  }
  decode(born_);
  born_.header.process_id = 9;
  born_.rank = 4;
  decode(born_);
  ASSERT_EQ(sink_.communicators.size(), 2U);
  const std::string& id = sink_.text(sink_.communicators[0].unique_id);
  EXPECT_EQ(id.size(), 256U);
  EXPECT_TRUE(id.starts_with("000306090c0f1215")) << id;
  EXPECT_EQ(sink_.communicators[0].unique_id, sink_.communicators[1].unique_id);
  EXPECT_EQ(sink_.communicators[0].rank, 3);
  EXPECT_EQ(sink_.communicators[0].ranks, 8);
  EXPECT_EQ(sink_.communicators[1].rank, 4);
}

TEST_F(NcclDecode, RanksOfOneCallBelongTogetherWithoutAnId) {
  born_.id_known = 0;
  decode(born_);
  born_.rank = 1;
  born_.communicator = 0x1800;
  decode(born_);
  born_.header.time_ns = 51;  // another call
  decode(born_);
  ASSERT_EQ(sink_.communicators.size(), 3U);
  EXPECT_NE(sink_.communicators[0].unique_id, StringId{});
  EXPECT_EQ(sink_.communicators[0].unique_id, sink_.communicators[1].unique_id);
  EXPECT_NE(sink_.communicators[0].unique_id, sink_.communicators[2].unique_id);
}

TEST_F(NcclDecode, ASplitNamesItsParentAndNoId) {
  born_.id_known = 0;
  born_.parent = 0x1000;
  born_.color = 2;
  born_.rank = -1;
  decode(born_);
  ASSERT_EQ(sink_.communicators.size(), 1U);
  EXPECT_EQ(sink_.communicators[0].parent, 0x1000U);
  EXPECT_EQ(sink_.communicators[0].color, 2);
  EXPECT_EQ(sink_.communicators[0].unique_id, StringId{});
}

TEST_F(NcclDecode, ACallThatMadeNoneIsNoCommunicator) {
  born_.communicator = 0;
  born_.result = 5;
  decode(born_);
  EXPECT_TRUE(sink_.communicators.empty());
  EXPECT_EQ(decoder_.rejected(), 0U);
}

TEST_F(NcclDecode, BrokenEventsAreCountedAndLeftOut) {
  call_.operation = 31;
  decode(call_);
  call_.operation = KVET_COLLECTIVE_SEND;
  call_.return_ns = 1;
  decode(call_);
  decode(call_.header);
  EXPECT_EQ(decoder_.rejected(), 3U);
  EXPECT_TRUE(sink_.collective_calls.empty());
}

}  // namespace
}  // namespace kvet::probes
