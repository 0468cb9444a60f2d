// Sends and receives across ranks.
#include <gtest/gtest.h>

#include "questions/nccl_pairs.h"

namespace kvet::questions {
namespace {

Part operation(int32_t rank, std::vector<Peer> peers, int64_t start, int64_t end) {
  Part part;
  part.rank = static_cast<uint32_t>(rank);
  part.own_rank = rank;
  part.communicator = "c";
  part.executed = true;
  part.peers = std::move(peers);
  part.start_ns = start;
  part.end_ns = end;
  return part;
}
Peer to(int32_t rank) { return {rank, true, 1024}; }
Peer from(int32_t rank) { return {rank, false, 1024}; }

const PairMeasured& of(const Pairs& pairs, size_t index) { return pairs.measured.at(index); }

// A pipeline: rank 0 sends to rank 1, which sends on to rank 2.
TEST(NcclPairs, AReceiverWaitsForItsSender) {
  Collectives all;
  for (int64_t step = 0; step < 10; ++step) {
    const int64_t at = step * 1'000'000;
    all.point_to_point.push_back(operation(0, {to(1)}, at + 50'000, at + 60'000));
    all.point_to_point.push_back(operation(1, {from(0)}, at, at + 60'000));
    all.point_to_point.push_back(operation(1, {to(2)}, at + 200'000, at + 240'000));
    all.point_to_point.push_back(operation(2, {from(1)}, at + 230'000, at + 240'000));
  }
  const Pairs pairs = match_pairs(all, {});
  ASSERT_EQ(pairs.measured.size(), 40u);
  EXPECT_EQ(pairs.unmatched, 0u);
  EXPECT_EQ(of(pairs, 0).wait_ns, 0);
  EXPECT_EQ(of(pairs, 0).transfer_ns, 10'000);
  EXPECT_EQ(of(pairs, 1).wait_ns, 50'000);
  EXPECT_EQ(of(pairs, 1).transfer_ns, 10'000);
  EXPECT_EQ(of(pairs, 2).wait_ns, 30'000) << "a sender waits for its receiver too";
  EXPECT_EQ(of(pairs, 3).wait_ns, 0);
  EXPECT_TRUE(of(pairs, 3).all_peers);
}

// A ring in which everybody sends to the right and receives from the left, in one group: the wait is for the later neighbour.
TEST(NcclPairs, AGroupWaitsForTheLatestOfItsPeers) {
  Collectives all;
  for (int64_t step = 0; step < 10; ++step) {
    for (int32_t rank = 0; rank < 4; ++rank) {
      const int64_t start = step * 1'000'000 + rank * 10'000;
      all.point_to_point.push_back(
          operation(rank, {to((rank + 1) % 4), from((rank + 3) % 4)}, start, step * 1'000'000 + 50'000));
    }
  }
  const Pairs pairs = match_pairs(all, {});
  ASSERT_EQ(pairs.measured.size(), 40u);
  EXPECT_EQ(of(pairs, 0).wait_ns, 30'000);  // for rank 3
  EXPECT_EQ(of(pairs, 1).wait_ns, 10'000);  // for rank 2
  EXPECT_EQ(of(pairs, 2).wait_ns, 10'000);  // for rank 3
  EXPECT_EQ(of(pairs, 3).wait_ns, 0);
  EXPECT_EQ(of(pairs, 3).transfer_ns, 20'000);
}

TEST(NcclPairs, ClocksAreAlignedAndAMissingPeerIsSaid) {
  Collectives all;
  for (int64_t step = 0; step < 10; ++step) {
    const int64_t at = step * 1'000'000;
    all.point_to_point.push_back(operation(0, {to(1), to(2)}, at, at + 60'000));
    all.point_to_point.push_back(operation(1, {from(0)}, at + 30'000, at + 68'000));  // its clock is 8 µs ahead
  }
  all.point_to_point.push_back(operation(1, {from(7)}, 20'000'000, 20'001'000));
  const Pairs pairs = match_pairs(all, {{}, {0, 8'000, 0}});
  EXPECT_EQ(of(pairs, 0).wait_ns, 22'000);
  EXPECT_FALSE(of(pairs, 0).all_peers);
  EXPECT_TRUE(of(pairs, 1).all_peers);
  EXPECT_EQ(pairs.unmatched, 1u);
}

// Rank 1's first receive was before the recording: sizes alternate, which tells the shift.
TEST(NcclPairs, AMissingBeginningIsShiftedIntoPlace) {
  Collectives all;
  for (int64_t step = 0; step < 20; ++step) {
    const int64_t at = step * 1'000'000;
    const uint64_t bytes = step % 2 == 0 ? 1024 : 4096;
    all.point_to_point.push_back(operation(0, {{1, true, bytes}}, at, at + 60'000));
    if (step > 0) {
      all.point_to_point.push_back(operation(1, {{0, false, bytes}}, at + 40'000, at + 60'000));
    }
  }
  const Pairs pairs = match_pairs(all, {});
  EXPECT_EQ(pairs.unmatched, 1u);
  ASSERT_EQ(pairs.measured.size(), 38u);
  EXPECT_EQ(of(pairs, 0).wait_ns, 40'000);
}

}  // namespace
}  // namespace kvet::questions
