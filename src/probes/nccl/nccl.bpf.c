/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of NCCL's operations and the birth of communicators (nccl.h 2.x). A probe per function, entry and return
 * matched per thread and function, since one function may call another.
 */
#include "probes/kernel/kernel.bpf.h"
/* After the helpers. */
#include "probes/kernel/arguments.bpf.h"
#include "probes/nccl/nccl.h"

/* A collective call is 88 bytes, a communicator 216; 4 MiB hold about 45,000 calls, read every 5 ms. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4 << 20);
} events SEC(".maps");

struct nccl_call {
  kvet_u64 time_ns;
  kvet_u64 communicator; /* for the birth of one: where its address will be written */
  kvet_u64 parent;
  kvet_u64 stream;
  kvet_u64 count;
  kvet_u32 function;
  kvet_i32 data_type;
  kvet_i32 peer_or_root;
  kvet_i32 rank;
  kvet_i32 ranks;
  kvet_i32 color;
  kvet_i32 key;
  kvet_u32 id_known;
  kvet_u8 id[128];
};

struct call_key {
  kvet_u32 thread_id;
  kvet_u32 function;
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 8192);
  __type(key, struct call_key);
  __type(value, struct nccl_call);
} calls SEC(".maps");

/* Too large for the stack of a BPF program together with the rest. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, kvet_u32);
  __type(value, struct nccl_call);
} scratch SEC(".maps");

static __always_inline struct call_key key_of(kvet_u32 function) {
  struct call_key key = {.thread_id = (kvet_u32)current_ids(), .function = function};
  return key;
}

/* Where the arguments are, counted from 0, by nccl.h. −1: the function has none. */
struct layout {
  kvet_i32 count, data_type, peer_or_root, communicator, stream;
};

static __always_inline struct layout layout_of(kvet_u32 function) {
  switch (function) {
    case KVET_COLLECTIVE_ALL_REDUCE: /* send, receive, count, type, operator, communicator, stream */
    case KVET_COLLECTIVE_REDUCE_SCATTER: return (struct layout){2, 3, -1, 5, 6};
    case KVET_COLLECTIVE_ALL_GATHER: /* send, receive, count, type, communicator, stream */
    case KVET_COLLECTIVE_ALL_TO_ALL: return (struct layout){2, 3, -1, 4, 5};
    case KVET_COLLECTIVE_BROADCAST: /* send, receive, count, type, root, communicator, stream */
    case KVET_COLLECTIVE_GATHER:
    case KVET_COLLECTIVE_SCATTER: return (struct layout){2, 3, 4, 5, 6};
    case KVET_COLLECTIVE_REDUCE: /* send, receive, count, type, operator, root, communicator, stream */
      return (struct layout){2, 3, 5, 6, 7};
    case KVET_COLLECTIVE_SEND: /* buffer, count, type, peer, communicator, stream */
    case KVET_COLLECTIVE_RECEIVE:
    case KVET_NCCL_BROADCAST_IN_PLACE: /* buffer, count, type, root, communicator, stream */
      return (struct layout){1, 2, 3, 4, 5};
  }
  return (struct layout){-1, -1, -1, -1, -1};
}

static __always_inline void read_operation(struct arguments* arguments, struct nccl_call* call) {
  struct layout layout = layout_of(call->function);
  call->data_type = -1;
  call->peer_or_root = -1;
  if (layout.count < 0) {
    return;
  }
  call->count = argument(arguments, layout.count);
  call->data_type = (kvet_i32)argument(arguments, layout.data_type);
  if (layout.peer_or_root >= 0) {
    call->peer_or_root = (kvet_i32)argument(arguments, layout.peer_or_root);
  }
  call->communicator = argument(arguments, layout.communicator);
  call->stream = argument(arguments, layout.stream);
}

static __always_inline void read_birth(struct pt_regs* registers, struct arguments* arguments, struct nccl_call* call) {
  kvet_u64 id_at = 0;
  switch (call->function) {
    case KVET_NCCL_INIT_RANK: /* where to, ranks, id by value, rank */
      call->communicator = argument(arguments, 0);
      call->ranks = (kvet_i32)argument(arguments, 1);
#if defined(__TARGET_ARCH_arm64)
      /* AAPCS64 6.8.2 B.4: a composite larger than 16 bytes is copied by the caller and its address passed. */
      id_at = argument(arguments, 2);
      call->rank = (kvet_i32)argument(arguments, 3);
#else
      /* x86-64 System V 3.2.3: a struct larger than 16 bytes is on the stack and takes no register. */
      id_at = stack_slot(registers, 0);
      call->rank = (kvet_i32)argument(arguments, 2);
#endif
      break;
    case KVET_NCCL_INIT_RANK_SCALABLE: /* where to, ranks, rank, ids, array of ids, configuration */
      call->communicator = argument(arguments, 0);
      call->ranks = (kvet_i32)argument(arguments, 1);
      call->rank = (kvet_i32)argument(arguments, 2);
      id_at = argument(arguments, 4);
      break;
    case KVET_NCCL_INIT_ALL: /* array of where to, devices, their list */
      call->communicator = argument(arguments, 0);
      call->ranks = (kvet_i32)argument(arguments, 1);
      call->rank = 0;
      break;
    case KVET_NCCL_SPLIT: /* parent, color, key, where to, configuration */
      call->parent = argument(arguments, 0);
      call->color = (kvet_i32)argument(arguments, 1);
      call->key = (kvet_i32)argument(arguments, 2);
      call->communicator = argument(arguments, 3);
      call->rank = -1;
      break;
  }
  if (id_at && bpf_probe_read_user(call->id, sizeof(call->id), (void*)id_at) == 0) {
    call->id_known = 1;
  }
}

SEC("uprobe")
int nccl_entry(struct pt_regs* registers) {
  kvet_u32 function = (kvet_u32)bpf_get_attach_cookie(registers);
  struct call_key key = key_of(function);
  kvet_u32 zero = 0;
  struct arguments arguments = {};
  struct nccl_call* call = bpf_map_lookup_elem(&scratch, &zero);

  read_arguments(registers, &arguments);
  if (!call) {
    return 0;
  }
  __builtin_memset(call, 0, sizeof(*call));
  call->time_ns = bpf_ktime_get_ns();
  call->function = function;
  if (function >= KVET_NCCL_INIT_RANK) {
    read_birth(registers, &arguments, call);
  } else {
    read_operation(&arguments, call);
  }
  if (bpf_map_lookup_elem(&calls, &key)) {
    count(KVET_COUNTER_LAUNCH_UNMATCHED); /* the call before never returned */
  }
  if (bpf_map_update_elem(&calls, &key, call, BPF_ANY)) {
    count(KVET_COUNTER_MAP_FULL);
  }
  return 0;
}

static __always_inline void fill_header(struct kvet_event_header* header, kvet_u32 kind, kvet_u32 size, kvet_u64 time) {
  kvet_u64 id = current_ids();
  header->kind = kind;
  header->size = size;
  header->time_ns = time;
  header->process_id = id >> 32;
  header->thread_id = (kvet_u32)id;
}

static __always_inline void send_operation(struct nccl_call* call, kvet_i32 result, kvet_u64 now) {
  struct kvet_event_collective_call* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    count(KVET_COUNTER_RESERVE_FAILED);
    return;
  }
  fill_header(&event->header, KVET_EVENT_COLLECTIVE_CALL, sizeof(*event), call->time_ns);
  event->return_ns = now;
  event->communicator = call->communicator;
  event->stream = call->stream;
  event->count = call->count;
  event->data_type = call->data_type;
  event->peer_or_root = call->peer_or_root;
  event->operation =
      call->function == KVET_NCCL_BROADCAST_IN_PLACE ? (kvet_u32)KVET_COLLECTIVE_BROADCAST : call->function;
  event->result = result;
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  count(KVET_COUNTER_EVENTS);
}

static __always_inline void send_birth(struct nccl_call* call, kvet_i32 rank, kvet_i32 result, kvet_u64 now) {
  kvet_u64 communicator = 0;
  kvet_u64 at = call->communicator;
  struct kvet_event_communicator* event;

  if (call->function == KVET_NCCL_INIT_ALL) {
    at += 8 * (kvet_u64)rank;
  }
  if (bpf_probe_read_user(&communicator, sizeof(communicator), (void*)at)) {
    communicator = 0;
  }
  event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    count(KVET_COUNTER_RESERVE_FAILED);
    return;
  }
  fill_header(&event->header, KVET_EVENT_COMMUNICATOR, sizeof(*event), call->time_ns);
  event->return_ns = now;
  event->communicator = communicator;
  event->parent = call->parent;
  event->rank = rank;
  event->ranks = call->ranks;
  event->color = call->color;
  event->key = call->key;
  event->result = result;
  event->id_known = call->id_known;
  __builtin_memcpy(event->id, call->id, sizeof(event->id));
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  count(KVET_COUNTER_EVENTS);
}

#define MAX_DEVICES_OF_A_PROCESS 32

SEC("uretprobe")
int nccl_return(struct pt_regs* registers) {
  struct call_key key = key_of((kvet_u32)bpf_get_attach_cookie(registers));
  struct nccl_call* call = bpf_map_lookup_elem(&calls, &key);
  kvet_i32 result = (kvet_i32)PT_REGS_RC(registers);
  kvet_u64 now = bpf_ktime_get_ns();

  if (!call) {
    return 0; /* the call began before the probe was attached */
  }
  if (call->function < KVET_NCCL_INIT_RANK) {
    send_operation(call, result, now);
  } else if (call->function == KVET_NCCL_INIT_ALL) {
    for (kvet_i32 rank = 0; rank < MAX_DEVICES_OF_A_PROCESS && rank < call->ranks; ++rank) {
      send_birth(call, rank, result, now);
    }
  } else {
    send_birth(call, call->rank, result, now);
  }
  bpf_map_delete_elem(&calls, &key);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
