#include "probes/nccl/functions.h"

#include "abi/bpf_events.h"
#include "probes/nccl/nccl.h"

namespace kvet::probes {

namespace {

// nccl.h of NCCL 2.28; ncclAlltoAll, ncclGather and ncclScatter are new there, ncclCommInitRankScalable came with 2.23,
// ncclCommSplit with 2.18. What a library does not export is left out when it is attached. The pnccl twins are the same
// addresses.
constexpr ProbedFunction functions[] = {
    {"ncclAllReduce", KVET_COLLECTIVE_ALL_REDUCE, true},
    {"ncclAllGather", KVET_COLLECTIVE_ALL_GATHER, true},
    {"ncclReduceScatter", KVET_COLLECTIVE_REDUCE_SCATTER, true},
    {"ncclBroadcast", KVET_COLLECTIVE_BROADCAST, true},
    {"ncclBcast", KVET_NCCL_BROADCAST_IN_PLACE, true},
    {"ncclReduce", KVET_COLLECTIVE_REDUCE, true},
    {"ncclAlltoAll", KVET_COLLECTIVE_ALL_TO_ALL, true},
    {"ncclSend", KVET_COLLECTIVE_SEND, true},
    {"ncclRecv", KVET_COLLECTIVE_RECEIVE, true},
    {"ncclGather", KVET_COLLECTIVE_GATHER, true},
    {"ncclScatter", KVET_COLLECTIVE_SCATTER, true},
    {"ncclGroupStart", KVET_COLLECTIVE_GROUP_START, true},
    {"ncclGroupEnd", KVET_COLLECTIVE_GROUP_END, true},
    {"ncclCommInitRank", KVET_NCCL_INIT_RANK, true},
    {"ncclCommInitRankConfig", KVET_NCCL_INIT_RANK, true},
    {"ncclCommInitRankScalable", KVET_NCCL_INIT_RANK_SCALABLE, true},
    {"ncclCommInitAll", KVET_NCCL_INIT_ALL, true},
    {"ncclCommSplit", KVET_NCCL_SPLIT, true},
};

}  // namespace

std::span<const ProbedFunction> nccl_functions() { return functions; }

}  // namespace kvet::probes
