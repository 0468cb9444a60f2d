// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
// What BPF programs hand to the recorder through ring buffers. Plain C, compiled for BPF and for the recorder.
// Times are bpf_ktime_get_ns(): CLOCK_MONOTONIC. Process and thread ids are
// as the recorder sees them: those of its pid namespace.
#ifndef KVET_ABI_BPF_EVENTS_H
#define KVET_ABI_BPF_EVENTS_H

#include "abi/records.h"

enum kvet_event_kind {
  KVET_EVENT_LAUNCH = 1,
  KVET_EVENT_OFF_CPU = 2,
  KVET_EVENT_COLLECTIVE_CALL = 3,
  KVET_EVENT_COMMUNICATOR = 4,
  KVET_EVENT_PROCESS = 5,
  KVET_EVENT_BATCH = 6,
};

struct kvet_event_header {
  kvet_u32 kind;  // enum kvet_event_kind
  kvet_u32 size;  // of the whole event
  kvet_u64 time_ns;  // when it began
  kvet_u32 process_id;  // thread group id
  kvet_u32 thread_id;
};
KVET_STATIC_ASSERT(sizeof(struct kvet_event_header) == 24, "event header is 24 bytes");

// One call of a launch entry point of libcuda, from its uprobe pair.
struct kvet_event_launch {
  struct kvet_event_header header;
  kvet_u64 return_ns;  // 0: the return was not seen
  kvet_u64 function;  // CUfunction, or CUgraphExec for graph launches
  kvet_u64 stream;  // CUstream handle
  kvet_u32 entry_point;  // enum kvet_api_kind
  kvet_i32 result;
  kvet_u32 grid[3];
  kvet_u32 block[3];
  kvet_u32 shared_bytes;
  kvet_u32 arguments_known;  // 0: grid, block, shared bytes could not be read
  kvet_u32 captured;  // 1: its stream was being captured into a graph: it executes nothing
  kvet_u32 reserved;
};

#define KVET_THREAD_UNSEEN 0xffffffffu

// Why a thread left the CPU, as far as the scheduler alone can tell.
enum kvet_off_cpu_how {
  KVET_OFF_CPU_BLOCKED = 0,  // of its own will: it waits for something
  KVET_OFF_CPU_PREEMPTED = 1,  // while it was runnable
  KVET_OFF_CPU_THROTTLED = 2,  // while it was runnable, its cgroup's quota used up, and the kernel says so
};
// One interval in which a thread of the target was off the CPU: closed when it runs again.
struct kvet_event_off_cpu {
  struct kvet_event_header header;  // time_ns: when it left the CPU
  kvet_u64 wake_ns;  // when it became runnable; equals time_ns when it was preempted; 0: unknown
  kvet_u64 end_ns;  // when it ran again
  kvet_u32 state;  // previous task state bits; 0: runnable, so it was preempted or throttled
  kvet_i32 system_call;  // number of the system call it was in; −1: none or unknown
  kvet_u32 cpu;  // that it left
  // Who had the CPU while the thread was runnable and waited for one: who ran longest in one go, as far as was seen.
  // 0: nobody; KVET_THREAD_UNSEEN: outside the recorder's view.
  kvet_u32 taker_thread_id;
  char taker_name[16];
  kvet_u32 waker_thread_id;  // who woke it; 0: an interrupt or unknown
  kvet_u32 preempted;  // enum kvet_off_cpu_how
};

enum kvet_collective {
  KVET_COLLECTIVE_ALL_REDUCE = 1,
  KVET_COLLECTIVE_ALL_GATHER = 2,
  KVET_COLLECTIVE_REDUCE_SCATTER = 3,
  KVET_COLLECTIVE_BROADCAST = 4,
  KVET_COLLECTIVE_REDUCE = 5,
  KVET_COLLECTIVE_ALL_TO_ALL = 6,
  KVET_COLLECTIVE_SEND = 7,
  KVET_COLLECTIVE_RECEIVE = 8,
  KVET_COLLECTIVE_GATHER = 9,
  KVET_COLLECTIVE_SCATTER = 10,
  KVET_COLLECTIVE_GROUP_START = 32,  // ncclGroupStart and ncclGroupEnd, so that a group's launch can be found
  KVET_COLLECTIVE_GROUP_END = 33,
};
// One host call of a NCCL operation.
struct kvet_event_collective_call {
  struct kvet_event_header header;
  kvet_u64 return_ns;
  kvet_u64 communicator;  // ncclComm_t, an address in the target
  kvet_u64 stream;
  kvet_u64 count;  // elements
  kvet_i32 data_type;  // ncclDataType_t
  kvet_i32 peer_or_root;  // −1: none
  kvet_u32 operation;  // enum kvet_collective
  kvet_i32 result;
};
// One communicator came to be: the id that all its ranks share, and which rank this is.
struct kvet_event_communicator {
  struct kvet_event_header header;
  kvet_u64 return_ns;
  kvet_u64 communicator;  // ncclComm_t
  kvet_u64 parent;  // of a split; else 0
  kvet_i32 rank;
  kvet_i32 ranks;
  kvet_i32 color, key;  // of a split
  kvet_i32 result;
  kvet_u32 id_known;
  kvet_u8 id[128];  // ncclUniqueId; all zero for ncclCommInitAll
};

enum kvet_process_change { KVET_PROCESS_FORK = 1, KVET_PROCESS_EXEC = 2, KVET_PROCESS_EXIT = 3 };
struct kvet_event_process {
  struct kvet_event_header header;  // of the parent for a fork, else of the process itself
  kvet_u32 change;  // enum kvet_process_change
  kvet_u32
      child;  // process id of the child, for a fork; for an exec its own id, or 0 when another than its first thread called it
  kvet_i32 exit_code;  // as wait(2) gives it, for an exit
  kvet_u32 shares_memory;  // 1: a fork's child runs in its parent's memory until it execs (vfork, posix_spawn)
  char name[16];
};

// One batch copied out of the target: this header, the library's batch header, and `capacity` records.
struct kvet_event_batch {
  struct kvet_event_header header;
  kvet_u64 reserved;
  struct kvet_batch_header batch;
  // followed by union kvet_record[capacity]
};
KVET_STATIC_ASSERT(sizeof(struct kvet_event_batch) == 96, "batch event header is 96 bytes");

// Losses counted by the BPF programs in a per-CPU array map, indexed by this.
enum kvet_bpf_counter {
  KVET_COUNTER_EVENTS = 0,  // events sent, for the rate
  KVET_COUNTER_RESERVE_FAILED = 1,  // ring buffer full (events)
  KVET_COUNTER_BATCH_RESERVE_FAILED = 2,  // ring buffer full (batches)
  KVET_COUNTER_BATCH_COPY_FAILED = 3,  // EFAULT while copying a batch
  KVET_COUNTER_LAUNCH_UNMATCHED = 4,  // a return without an entry, or an entry never returned
  KVET_COUNTER_MAP_FULL = 5,  // a per-thread map had no room
  KVET_COUNTER_LAUNCHES = 6,  // launch entry points hit: the count to check the device tier against
  KVET_COUNTER_CAPTURED_LAUNCHES = 7,
  KVET_COUNTER_LIMIT = 16,
};

#endif
