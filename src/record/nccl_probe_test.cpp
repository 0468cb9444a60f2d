// The NCCL program on real calls with known arguments: a look-alike of the library, under an odd name, in this process.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "probes/nccl/probe.h"
#include "record/testing/probe_environment.h"
#include "record/uprobe_link.h"

namespace kvet::record {
namespace {

using Handle = void*;
Handle handle(uintptr_t value) { return reinterpret_cast<Handle>(value); }

struct UniqueId {
  unsigned char bytes[128];
};
using InitRank = int(Handle*, int, UniqueId, int);
using InitRankConfig = int(Handle*, int, UniqueId, int, void*);
using InitRankScalable = int(Handle*, int, int, int, UniqueId*, void*);
using InitAll = int(Handle*, int, const int*);
using Split = int(Handle, int, int, Handle*, void*);
using Reducing = int(const void*, void*, size_t, int, int, Handle, Handle);  // an operator, or a root
using Gathering = int(const void*, void*, size_t, int, Handle, Handle);
using Reduce = int(const void*, void*, size_t, int, int, int, Handle, Handle);
using OneBuffer = int(void*, size_t, int, int, Handle, Handle);

class NcclProbeTest : public testing::Test {
 protected:
  void attach() {
    auto targets = probes::TargetMap::create();
    ASSERT_TRUE(targets) << targets.error().message();
    targets_.emplace(std::move(*targets));
    auto probe = probes::NcclProbe::load(*targets_, best_uprobe_way(), [this](std::span<const std::byte> bytes) {
      kvet_event_header header;
      std::memcpy(&header, bytes.data(), sizeof header);
      if (header.kind == KVET_EVENT_COMMUNICATOR) {
        ASSERT_EQ(bytes.size(), sizeof(kvet_event_communicator));
        std::memcpy(&births_.emplace_back(), bytes.data(), bytes.size());
      } else {
        ASSERT_EQ(bytes.size(), sizeof(kvet_event_collective_call));
        std::memcpy(&calls_.emplace_back(), bytes.data(), bytes.size());
      }
    });
    ASSERT_TRUE(probe) << probe.error().message();
    probe_.emplace(std::move(*probe));
    LibraryIndex index({}, probe_->program().functions);
    const auto library = mapped_library(index, LibraryKind::nccl);
    ASSERT_TRUE(library) << "the look-alike was not found by its symbols";
    EXPECT_EQ(library->soname, "libmesh_transport.so.7");
    attachment_ = attach_uprobes(probe_->program(), *library, getpid());
    ASSERT_FALSE(attachment_.failure) << attachment_.failure->message();
  }

  void expect_call(kvet_collective operation, size_t count, int type, int peer_or_root, uintptr_t communicator,
                   uintptr_t stream) {
    probe_->poll();
    ASSERT_EQ(calls_.size(), 1U);
    const kvet_event_collective_call& call = calls_[0];
    EXPECT_EQ(call.operation, static_cast<uint32_t>(operation));
    EXPECT_EQ(call.count, count);
    EXPECT_EQ(call.data_type, type);
    EXPECT_EQ(call.peer_or_root, peer_or_root);
    EXPECT_EQ(call.communicator, communicator);
    EXPECT_EQ(call.stream, stream);
    EXPECT_EQ(call.result, *nccl_.find<int>("look_alike_result"));
    EXPECT_GE(call.return_ns, call.header.time_ns);
    calls_.clear();
  }
  static UniqueId unique_id(unsigned seed) {
    UniqueId id;
    for (unsigned index = 0; index < sizeof id.bytes; ++index) {
      id.bytes[index] = static_cast<unsigned char>(seed + 7 * index);
    }
    return id;
  }
  static void expect_id(const kvet_event_communicator& birth, const UniqueId& id) {
    EXPECT_EQ(birth.id_known, 1U);
    EXPECT_EQ(std::memcmp(birth.id, id.bytes, sizeof id.bytes), 0);
  }
  const kvet_event_communicator& only_birth() {
    probe_->poll();
    EXPECT_EQ(births_.size(), 1U);
    static const kvet_event_communicator none{};
    return births_.empty() ? none : births_.front();
  }

  Loaded nccl_{look_alike("nccl")};
  std::optional<probes::TargetMap> targets_;
  std::optional<probes::NcclProbe> probe_;
  Attachment attachment_;
  std::vector<kvet_event_collective_call> calls_;
  std::vector<kvet_event_communicator> births_;
};

TEST_F(NcclProbeTest, ArgumentsOfEveryOperation) {
  SKIP_WITHOUT_BPF();
  ASSERT_TRUE(nccl_.valid());
  ASSERT_NO_FATAL_FAILURE(attach());
  *nccl_.find<int>("look_alike_result") = 4;
  // Larger than 32 bits: counts are size_t.
  constexpr size_t count = 0x1'2345'6789;
  const Handle send = handle(0xd1), receive = handle(0xd2), comm = handle(0xc0), stream = handle(0x5f);

  nccl_.find<Reducing>("ncclAllReduce")(send, receive, count, 7, 3, comm, stream);
  expect_call(KVET_COLLECTIVE_ALL_REDUCE, count, 7, -1, 0xc0, 0x5f);
  nccl_.find<Reducing>("ncclReduceScatter")(send, receive, count, 8, 3, comm, stream);
  expect_call(KVET_COLLECTIVE_REDUCE_SCATTER, count, 8, -1, 0xc0, 0x5f);
  nccl_.find<Gathering>("ncclAllGather")(send, receive, count, 9, comm, stream);
  expect_call(KVET_COLLECTIVE_ALL_GATHER, count, 9, -1, 0xc0, 0x5f);
  nccl_.find<Gathering>("ncclAlltoAll")(send, receive, count, 1, comm, stream);
  expect_call(KVET_COLLECTIVE_ALL_TO_ALL, count, 1, -1, 0xc0, 0x5f);
  nccl_.find<Reducing>("ncclBroadcast")(send, receive, count, 2, 5, comm, stream);
  expect_call(KVET_COLLECTIVE_BROADCAST, count, 2, 5, 0xc0, 0x5f);
  nccl_.find<Reducing>("ncclGather")(send, receive, count, 2, 6, comm, stream);
  expect_call(KVET_COLLECTIVE_GATHER, count, 2, 6, 0xc0, 0x5f);
  nccl_.find<Reducing>("ncclScatter")(send, receive, count, 2, 7, comm, stream);
  expect_call(KVET_COLLECTIVE_SCATTER, count, 2, 7, 0xc0, 0x5f);
  nccl_.find<Reduce>("ncclReduce")(send, receive, count, 3, 0, 11, comm, stream);
  expect_call(KVET_COLLECTIVE_REDUCE, count, 3, 11, 0xc0, 0x5f);
  nccl_.find<OneBuffer>("ncclBcast")(receive, count, 4, 12, comm, stream);
  expect_call(KVET_COLLECTIVE_BROADCAST, count, 4, 12, 0xc0, 0x5f);
  nccl_.find<OneBuffer>("ncclSend")(receive, count, 5, 13, comm, stream);
  expect_call(KVET_COLLECTIVE_SEND, count, 5, 13, 0xc0, 0x5f);
  nccl_.find<OneBuffer>("ncclRecv")(receive, count, 6, 14, comm, stream);
  expect_call(KVET_COLLECTIVE_RECEIVE, count, 6, 14, 0xc0, 0x5f);
  nccl_.find<int()>("ncclGroupStart")();
  expect_call(KVET_COLLECTIVE_GROUP_START, 0, -1, -1, 0, 0);
  nccl_.find<int()>("ncclGroupEnd")();
  expect_call(KVET_COLLECTIVE_GROUP_END, 0, -1, -1, 0, 0);
}

TEST_F(NcclProbeTest, ARankIsBornWithItsIdByValue) {
  SKIP_WITHOUT_BPF();
  ASSERT_NO_FATAL_FAILURE(attach());
  *nccl_.find<unsigned long>("look_alike_communicator") = 0x40000;
  const UniqueId id = unique_id(1);
  Handle comm = nullptr;
  nccl_.find<InitRank>("ncclCommInitRank")(&comm, 8, id, 5);
  const kvet_event_communicator& birth = only_birth();
  EXPECT_EQ(birth.communicator, 0x40000U);
  EXPECT_EQ(birth.ranks, 8);
  EXPECT_EQ(birth.rank, 5);
  EXPECT_EQ(birth.parent, 0U);
  expect_id(birth, id);
}

TEST_F(NcclProbeTest, OtherWaysToBeARank) {
  SKIP_WITHOUT_BPF();
  ASSERT_NO_FATAL_FAILURE(attach());
  *nccl_.find<unsigned long>("look_alike_communicator") = 0x50000;
  UniqueId ids[2] = {unique_id(2), unique_id(3)};
  Handle comm = nullptr;
  nccl_.find<InitRankConfig>("ncclCommInitRankConfig")(&comm, 4, ids[1], 3, handle(1));
  EXPECT_EQ(only_birth().communicator, 0x50000U);
  EXPECT_EQ(only_birth().ranks, 4);
  EXPECT_EQ(only_birth().rank, 3);
  expect_id(only_birth(), ids[1]);
  births_.clear();

  nccl_.find<InitRankScalable>("ncclCommInitRankScalable")(&comm, 16, 15, 2, ids, nullptr);
  EXPECT_EQ(only_birth().communicator, 0x50100U);
  EXPECT_EQ(only_birth().ranks, 16);
  EXPECT_EQ(only_birth().rank, 15);
  expect_id(only_birth(), ids[0]);
}

TEST_F(NcclProbeTest, AllRanksOfOneProcess) {
  SKIP_WITHOUT_BPF();
  ASSERT_NO_FATAL_FAILURE(attach());
  *nccl_.find<unsigned long>("look_alike_communicator") = 0x60000;
  Handle comms[8] = {};
  nccl_.find<InitAll>("ncclCommInitAll")(comms, 8, nullptr);
  probe_->poll();
  ASSERT_EQ(births_.size(), 8U);
  for (int rank = 0; rank < 8; ++rank) {
    const kvet_event_communicator& birth = births_[static_cast<size_t>(rank)];
    EXPECT_EQ(birth.rank, rank);
    EXPECT_EQ(birth.ranks, 8);
    EXPECT_EQ(birth.communicator, 0x60000U + 256U * static_cast<unsigned>(rank));
    EXPECT_EQ(birth.id_known, 0U);
    EXPECT_EQ(birth.header.time_ns, births_[0].header.time_ns);
  }
}

TEST_F(NcclProbeTest, APartOfASplitNamesItsParent) {
  SKIP_WITHOUT_BPF();
  ASSERT_NO_FATAL_FAILURE(attach());
  *nccl_.find<unsigned long>("look_alike_communicator") = 0x70000;
  Handle made = nullptr;
  nccl_.find<Split>("ncclCommSplit")(handle(0x40000), 2, 9, &made, nullptr);
  EXPECT_EQ(only_birth().communicator, 0x70000U);
  EXPECT_EQ(only_birth().parent, 0x40000U);
  EXPECT_EQ(only_birth().color, 2);
  EXPECT_EQ(only_birth().key, 9);
  EXPECT_EQ(only_birth().rank, -1);
  EXPECT_EQ(only_birth().id_known, 0U);
  births_.clear();
  nccl_.find<Split>("ncclCommSplit")(handle(0x40000), -1, 9, &made, nullptr);  // NCCL_SPLIT_NOCOLOR
  EXPECT_EQ(only_birth().communicator, 0U);
}

}  // namespace
}  // namespace kvet::record
