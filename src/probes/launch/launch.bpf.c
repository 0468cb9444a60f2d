/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of libcuda's launch entry points.
 *
 * Host tier: one event per call, entry and return matched per thread. Device tier: only a count per process, to hold
 * against the launch records of CUPTI, so nothing is trapped at the return.
 *
 * Stream capture is followed here, since asking the driver would mean calling it: a stream is captured from a
 * successful begin to the end of that capture; another stream joins when it waits for an event that was recorded on a
 * captured one (CUDA programming guide, "Cross-stream dependencies and events").
 */
#include "probes/kernel/kernel.bpf.h"
/* After the helpers. */
#include "probes/kernel/arguments.bpf.h"
#include "probes/launch/launch.h"

/* Set before loading. */
const volatile kvet_u32 count_only = 0;

/* An event is 104 bytes; 16 MiB hold about 160,000. Read every 5 ms, that is 32 million launches per second; the
 * slack bridges half a second at 300,000 per second while the recorder waits for a disk. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 16 << 20);
} events SEC(".maps");

struct call {
  kvet_u64 time_ns;
  kvet_u64 function;
  kvet_u64 stream;
  kvet_u32 cookie;
  kvet_u32 captured;
  kvet_u32 grid[3];
  kvet_u32 block[3];
  kvet_u32 shared_bytes;
  kvet_u32 arguments_known;
};

/* Threads inside a call now. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, kvet_u32);
  __type(value, struct call);
} calls SEC(".maps");

struct launch_count {
  kvet_u64 launches;
  kvet_u64 captured;
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, KVET_MAX_TARGETS);
  __type(key, kvet_u32); /* process */
  __type(value, struct launch_count);
} launch_counts SEC(".maps");

/* With count_only: processes whose launches are sent all the same, since no other source has them. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, KVET_MAX_TARGETS);
  __type(key, kvet_u32);
  __type(value, kvet_u32);
} event_processes SEC(".maps");

/* A stream or an event of a process. */
struct handle {
  kvet_u64 value;
  kvet_u32 process_id;
  kvet_u32 thread_id; /* for a thread's own default stream, else 0 */
};

/* Captures that are going on, by a number; how many, per process; and which capture a stream or an event belongs to. A
 * stale entry of the last two is harmless, since its capture is gone from the first. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, kvet_u64);
  __type(value, kvet_u32);
} captures SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, KVET_MAX_TARGETS);
  __type(key, kvet_u32);
  __type(value, kvet_u32);
} capturing_processes SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct handle);
  __type(value, kvet_u64);
} captured_handles SEC(".maps");

#define CU_STREAM_PER_THREAD 2 /* cuda.h */

static __always_inline kvet_u64 stream_argument(kvet_u64 stream, kvet_u32 cookie) {
  return stream == 0 && (cookie & KVET_LAUNCH_COOKIE_PER_THREAD) ? CU_STREAM_PER_THREAD : stream;
}

static __always_inline struct handle handle_of(kvet_u64 value, _Bool is_stream) {
  kvet_u64 id = current_ids();
  struct handle handle = {.value = value, .process_id = id >> 32, .thread_id = 0};
  if (is_stream && value == CU_STREAM_PER_THREAD) {
    handle.thread_id = (kvet_u32)id;
  }
  return handle;
}

/* The number of the capture that a stream or event belongs to; 0: none that is going on. */
static __always_inline kvet_u64 capture_of(struct handle* handle) {
  kvet_u32* going_on = bpf_map_lookup_elem(&capturing_processes, &handle->process_id);
  kvet_u64* number;
  if (!going_on || !*going_on) {
    return 0;
  }
  number = bpf_map_lookup_elem(&captured_handles, handle);
  if (!number || !bpf_map_lookup_elem(&captures, number)) {
    return 0;
  }
  return *number;
}

static __always_inline void count_launch(kvet_u32 captured) {
  kvet_u32 process_id = current_ids() >> 32;
  struct launch_count* launch_count = bpf_map_lookup_elem(&launch_counts, &process_id);
  if (!launch_count) {
    struct launch_count none = {};
    bpf_map_update_elem(&launch_counts, &process_id, &none, BPF_NOEXIST);
    launch_count = bpf_map_lookup_elem(&launch_counts, &process_id);
    if (!launch_count) {
      count(KVET_COUNTER_MAP_FULL);
      return;
    }
  }
  __sync_fetch_and_add(&launch_count->launches, 1);
  count(KVET_COUNTER_LAUNCHES);
  if (captured) {
    __sync_fetch_and_add(&launch_count->captured, 1);
    count(KVET_COUNTER_CAPTURED_LAUNCHES);
  }
}

/* CUlaunchConfig of cuda.h: seven 32-bit words, then the stream at byte 32. */
struct launch_config {
  kvet_u32 grid[3];
  kvet_u32 block[3];
  kvet_u32 shared_bytes;
  kvet_u32 padding;
  kvet_u64 stream;
};
/* CUDA_LAUNCH_PARAMS of cuda.h, of which the array has one per device; the first one stands for the call. */
struct launch_params {
  kvet_u64 function;
  kvet_u32 grid[3];
  kvet_u32 block[3];
  kvet_u32 shared_bytes;
  kvet_u32 padding;
  kvet_u64 stream;
};

static __always_inline void read_launch(struct arguments* arguments, struct call* call) {
  switch (call->cookie & 0xff) {
    case KVET_FUNCTION_LAUNCH_KERNEL:
      call->function = argument(arguments, 0);
      call->grid[0] = argument(arguments, 1);
      call->grid[1] = argument(arguments, 2);
      call->grid[2] = argument(arguments, 3);
      call->block[0] = argument(arguments, 4);
      call->block[1] = argument(arguments, 5);
      call->block[2] = argument(arguments, 6);
      call->shared_bytes = argument(arguments, 7);
      call->stream = argument(arguments, 8);
      call->arguments_known = 1;
      break;
    case KVET_FUNCTION_LAUNCH_KERNEL_EX: {
      struct launch_config config = {};
      call->function = argument(arguments, 1);
      if (bpf_probe_read_user(&config, sizeof(config), (void*)argument(arguments, 0)) == 0) {
        __builtin_memcpy(call->grid, config.grid, sizeof(call->grid));
        __builtin_memcpy(call->block, config.block, sizeof(call->block));
        call->shared_bytes = config.shared_bytes;
        call->stream = config.stream;
        call->arguments_known = 1;
      }
      break;
    }
    case KVET_FUNCTION_LAUNCH_MULTI_DEVICE: {
      struct launch_params params = {};
      if (bpf_probe_read_user(&params, sizeof(params), (void*)argument(arguments, 0)) == 0) {
        call->function = params.function;
        __builtin_memcpy(call->grid, params.grid, sizeof(call->grid));
        __builtin_memcpy(call->block, params.block, sizeof(call->block));
        call->shared_bytes = params.shared_bytes;
        call->stream = params.stream;
        call->arguments_known = 1;
      }
      break;
    }
    case KVET_FUNCTION_LAUNCH_GRAPH:
      call->function = argument(arguments, 0);
      call->stream = argument(arguments, 1);
      break;
    case KVET_FUNCTION_LAUNCH_HOST_FUNCTION:
      call->function = argument(arguments, 1);
      call->stream = argument(arguments, 0);
      break;
  }
  call->stream = stream_argument(call->stream, call->cookie);
}

static __always_inline void keep_call(struct call* call) {
  kvet_u32 thread_id = (kvet_u32)current_ids();
  if (bpf_map_lookup_elem(&calls, &thread_id)) {
    count(KVET_COUNTER_LAUNCH_UNMATCHED); /* the call before never returned */
  }
  if (bpf_map_update_elem(&calls, &thread_id, call, BPF_ANY)) {
    count(KVET_COUNTER_MAP_FULL);
  }
}

SEC("uprobe")
int launch_entry(struct pt_regs* registers) {
  kvet_u32 cookie = (kvet_u32)bpf_get_attach_cookie(registers);
  struct arguments arguments = {};
  struct call call = {};
  struct handle stream;

  read_arguments(registers, &arguments);
  call.time_ns = bpf_ktime_get_ns();
  call.cookie = cookie;
  switch (cookie & 0xff) {
    case KVET_FUNCTION_EVENT_RECORD: {
      struct handle event = handle_of(argument(&arguments, 0), 0);
      kvet_u64 capture;
      stream = handle_of(stream_argument(argument(&arguments, 1), cookie), 1);
      capture = capture_of(&stream);
      if (capture) {
        bpf_map_update_elem(&captured_handles, &event, &capture, BPF_ANY);
      } else if (capture_of(&event)) {
        bpf_map_delete_elem(&captured_handles, &event); /* recorded anew, outside the capture */
      }
      return 0;
    }
    case KVET_FUNCTION_STREAM_WAIT_EVENT: {
      struct handle event = handle_of(argument(&arguments, 1), 0);
      kvet_u64 capture = capture_of(&event);
      if (capture) {
        stream = handle_of(stream_argument(argument(&arguments, 0), cookie), 1);
        bpf_map_update_elem(&captured_handles, &stream, &capture, BPF_ANY);
      }
      return 0;
    }
    case KVET_FUNCTION_CAPTURE_BEGIN:
    case KVET_FUNCTION_CAPTURE_END:
      call.stream = stream_argument(argument(&arguments, 0), cookie);
      keep_call(&call);
      return 0;
  }
  read_launch(&arguments, &call);
  stream = handle_of(call.stream, 1);
  call.captured = capture_of(&stream) != 0;
  count_launch(call.captured);
  if (!count_only || bpf_map_lookup_elem(&event_processes, &stream.process_id)) {
    keep_call(&call);
  }
  return 0;
}

static __always_inline void capture_begins(struct call* call) {
  struct handle stream = handle_of(call->stream, 1);
  kvet_u32* going_on;
  kvet_u32 zero = 0;
  /* The time is a number that no other capture of this machine has: one thread cannot begin two in a nanosecond, and
   * the thread id tells threads apart. */
  kvet_u64 number = (call->time_ns << 22) | (current_ids() & 0x3fffff);

  if (bpf_map_update_elem(&captures, &number, &stream.process_id, BPF_ANY) ||
      bpf_map_update_elem(&captured_handles, &stream, &number, BPF_ANY)) {
    count(KVET_COUNTER_MAP_FULL);
    return;
  }
  bpf_map_update_elem(&capturing_processes, &stream.process_id, &zero, BPF_NOEXIST);
  going_on = bpf_map_lookup_elem(&capturing_processes, &stream.process_id);
  if (going_on) {
    __sync_fetch_and_add(going_on, 1);
  }
}

/* cuStreamEndCapture with these results changes nothing (cuda.h): the stream was not the one that began the capture, or
 * the thread was not the one that may end it. Any other result ends the capture, usable or not. */
#define CUDA_ERROR_ILLEGAL_STATE 401
#define CUDA_ERROR_STREAM_CAPTURE_UNMATCHED 903
#define CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD 908

static __always_inline void capture_ends(struct call* call, kvet_i32 result) {
  struct handle stream = handle_of(call->stream, 1);
  kvet_u64 number = capture_of(&stream);
  kvet_u32* going_on;

  if (!number || result == CUDA_ERROR_ILLEGAL_STATE || result == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED ||
      result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) {
    return;
  }
  bpf_map_delete_elem(&captures, &number);
  going_on = bpf_map_lookup_elem(&capturing_processes, &stream.process_id);
  if (going_on && *going_on) {
    __sync_fetch_and_add(going_on, -1);
  }
}

static __always_inline void send(struct call* call, kvet_i32 result) {
  kvet_u64 id = current_ids();
  struct kvet_event_launch* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    count(KVET_COUNTER_RESERVE_FAILED);
    return;
  }
  event->header.kind = KVET_EVENT_LAUNCH;
  event->header.size = sizeof(*event);
  event->header.time_ns = call->time_ns;
  event->header.process_id = id >> 32;
  event->header.thread_id = (kvet_u32)id;
  event->return_ns = bpf_ktime_get_ns();
  event->function = call->function;
  event->stream = call->stream;
  event->entry_point = (call->cookie >> KVET_LAUNCH_COOKIE_KIND_SHIFT) & 0xff;
  event->result = result;
  __builtin_memcpy(event->grid, call->grid, sizeof(event->grid));
  __builtin_memcpy(event->block, call->block, sizeof(event->block));
  event->shared_bytes = call->shared_bytes;
  event->arguments_known = call->arguments_known;
  event->captured = call->captured;
  event->reserved = 0;
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  count(KVET_COUNTER_EVENTS);
}

SEC("uretprobe")
int launch_return(struct pt_regs* registers) {
  kvet_u32 thread_id = (kvet_u32)current_ids();
  struct call* call = bpf_map_lookup_elem(&calls, &thread_id);
  kvet_i32 result = (kvet_i32)PT_REGS_RC(registers);

  if (!call) {
    return 0; /* the call began before the probe was attached */
  }
  switch (call->cookie & 0xff) {
    case KVET_FUNCTION_CAPTURE_BEGIN:
      if (result == 0) {
        capture_begins(call);
      }
      break;
    case KVET_FUNCTION_CAPTURE_END: capture_ends(call, result); break;
    default: send(call, result);
  }
  bpf_map_delete_elem(&calls, &thread_id);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
