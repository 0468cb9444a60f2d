/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which processes are recorded. The map of targets is kept here, at the tracepoints themselves: a child is in it before
 * it runs its first instruction, whatever the recorder is doing at that moment.
 */
#include "probes/kernel/kernel.bpf.h"

#define SIGNAL_GROUP_EXIT 0x00000004 /* include/linux/sched/signal.h */

/* An event is 56 bytes; 1 MiB holds 18,000 forks. The recorder is woken for each, since it must attach. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);
} events SEC(".maps");

static __always_inline struct kvet_event_process* reserve(kvet_u32 change, struct task_struct* task) {
  struct kvet_event_process* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    count(KVET_COUNTER_RESERVE_FAILED);
    return 0;
  }
  event->header.kind = KVET_EVENT_PROCESS;
  event->header.size = sizeof(*event);
  event->header.time_ns = bpf_ktime_get_ns();
  event->header.process_id = process_id_of(task);
  event->header.thread_id = thread_id_of(task);
  event->change = change;
  event->child = 0;
  event->exit_code = 0;
  event->shares_memory = 0;
  BPF_CORE_READ_INTO(&event->name, task, comm);
  return event;
}

static __always_inline void submit(struct kvet_event_process* event) {
  bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
  count(KVET_COUNTER_EVENTS);
}

SEC("raw_tp/sched_process_fork")
int process_fork(struct bpf_raw_tracepoint_args* context) {
  struct task_struct* parent = (struct task_struct*)context->args[0];
  struct task_struct* child = (struct task_struct*)context->args[1];
  kvet_u32 parent_id = process_id_of(parent);
  kvet_u32 child_id = process_id_of(child);
  kvet_u32 present = 1;
  struct kvet_event_process* event;

  if (parent_id == child_id || !is_target(parent_id)) {
    return 0; /* a thread, or somebody else's process */
  }
  if (bpf_map_update_elem(&targets, &child_id, &present, BPF_ANY)) {
    count(KVET_COUNTER_MAP_FULL);
  }
  event = reserve(KVET_PROCESS_FORK, parent);
  if (event) {
    event->child = child_id;
    event->shares_memory = BPF_CORE_READ(parent, mm) == BPF_CORE_READ(child, mm);
    submit(event);
  }
  return 0;
}

SEC("raw_tp/sched_process_exec")
int process_exec(struct bpf_raw_tracepoint_args* context) {
  struct task_struct* task = (struct task_struct*)context->args[0];
  struct kvet_event_process* event;

  if (!is_target(process_id_of(task))) {
    return 0;
  }
  event = reserve(KVET_PROCESS_EXEC, task);
  if (event) {
    /* The thread id before the call is the kernel's own number, and has no other any more. */
    event->child = (int)context->args[1] == BPF_CORE_READ(task, pid) ? event->header.process_id : 0;
    submit(event);
  }
  return 0;
}

SEC("raw_tp/sched_process_exit")
int process_exit(struct bpf_raw_tracepoint_args* context) {
  struct task_struct* task = (struct task_struct*)context->args[0];
  kvet_u32 process_id = process_id_of(task);
  struct kvet_event_process* event;

  /* `live` was already lowered for this thread: 0 means that it is the last one. */
  if (!is_target(process_id) || BPF_CORE_READ(task, signal, live.counter) != 0) {
    return 0;
  }
  event = reserve(KVET_PROCESS_EXIT, task);
  if (event) {
    /* As wait(2) reports it: the group's code when the group was ended as one, else the first thread's. */
    if (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT) {
      event->exit_code = BPF_CORE_READ(task, signal, group_exit_code);
    } else {
      event->exit_code = BPF_CORE_READ(task, group_leader, exit_code);
    }
    submit(event);
  }
  bpf_map_delete_elem(&targets, &process_id);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
