/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Process and thread ids as the recorder sees them. On the machine itself these are the kernel's own; a recorder in a
 * container has a pid namespace of its own, in which every process that it can see has another number.
 *
 * Include after bpf/bpf_helpers.h and bpf/bpf_core_read.h.
 */
#ifndef KVET_PROBES_IDS_BPF_H
#define KVET_PROBES_IDS_BPF_H

#include "abi/records.h"

/* The recorder's namespace, by its inode number; 0: the machine's own. Set before loading. */
const volatile kvet_u32 namespace_number = 0;
/* Namespaces nest 32 deep at most; a container in a container in a container is the third. */
#define NAMESPACE_LEVELS 8

struct ns_common {
  unsigned int inum;
} __attribute__((preserve_access_index));
struct pid_namespace {
  struct ns_common ns;
} __attribute__((preserve_access_index));
struct upid {
  int nr;
  struct pid_namespace* ns;
} __attribute__((preserve_access_index));
struct pid {
  unsigned int level;
  struct upid numbers[1]; /* level + 1 of them */
} __attribute__((preserve_access_index));

struct sched_entity {
  kvet_u64 sum_exec_runtime;
  kvet_u64 prev_sum_exec_runtime;
} __attribute__((preserve_access_index));
struct signal_struct {
  struct {
    int counter;
  } live;
  unsigned int flags;
  int group_exit_code;
} __attribute__((preserve_access_index));

/* What any of our programs reads of a thread. */
struct task_struct {
  int pid;
  int tgid;
  char comm[16];
  int exit_code;
  void* mm;
  unsigned int __state;
  struct sched_entity se;
  struct pid* thread_pid;
  struct task_struct* group_leader;
  struct signal_struct* signal;
  _Bool throttled;
} __attribute__((preserve_access_index));

/* 0: not visible from there. */
static __always_inline kvet_u32 number_of(struct pid* pid) {
  kvet_u64 numbers = bpf_core_field_offset(struct pid, numbers);
  kvet_u64 size = bpf_core_type_size(struct upid);
  kvet_u32 deepest = pid ? BPF_CORE_READ(pid, level) : 0;
  kvet_u32 level;
  /* A process has one number per level, from the machine's namespace down to its own. */
  for (level = 1; level < NAMESPACE_LEVELS; ++level) {
    struct upid* upid = (void*)pid + numbers + level * size;
    if (level > deepest) {
      break;
    }
    if (BPF_CORE_READ(upid, ns, ns.inum) == namespace_number) {
      return (kvet_u32)BPF_CORE_READ(upid, nr);
    }
  }
  return 0;
}

static __always_inline kvet_u32 thread_id_of(struct task_struct* task) {
  return namespace_number == 0 ? (kvet_u32)BPF_CORE_READ(task, pid) : number_of(BPF_CORE_READ(task, thread_pid));
}

static __always_inline kvet_u32 process_id_of(struct task_struct* task) {
  return namespace_number == 0 ? (kvet_u32)BPF_CORE_READ(task, tgid)
                               : number_of(BPF_CORE_READ(task, group_leader, thread_pid));
}

/* As bpf_get_current_pid_tgid(): the process above, the thread below. */
static __always_inline kvet_u64 current_ids(void) {
  struct task_struct* task;
  if (namespace_number == 0) {
    return bpf_get_current_pid_tgid();
  }
  task = (struct task_struct*)bpf_get_current_task();
  return (kvet_u64)process_id_of(task) << 32 | thread_id_of(task);
}

#endif
