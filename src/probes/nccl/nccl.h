// What the recorder tells the NCCL program about the function that an uprobe sits on: its attach cookie.
// Plain C, for the BPF program and for the recorder.
#ifndef KVET_PROBES_NCCL_H
#define KVET_PROBES_NCCL_H

// The cookie is an enum kvet_collective of abi/bpf_events.h for an operation, else one of these. Functions of one
// operation that order their arguments differently get their own.
enum kvet_nccl_function {
  KVET_NCCL_BROADCAST_IN_PLACE = 64,  // ncclBcast: one buffer
  KVET_NCCL_INIT_RANK = 96,  // also ncclCommInitRankConfig
  KVET_NCCL_INIT_RANK_SCALABLE = 97,
  KVET_NCCL_INIT_ALL = 98,
  KVET_NCCL_SPLIT = 99,
};

#endif
