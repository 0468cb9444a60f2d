/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Off-CPU intervals of the threads of recorded processes.
 *
 * At a context switch the leaving thread's state, system call and successor are kept per thread; the wake-up adds when
 * and by whom; when the thread runs again, one closed event is sent. raw_tp needs neither tracefs nor trampolines.
 */
#include "probes/kernel/kernel.bpf.h"

/* Before Linux 5.14. */
struct task_struct___state_5_13 {
  long state;
} __attribute__((preserve_access_index));

struct pt_regs___x86 {
  unsigned long orig_ax;
} __attribute__((preserve_access_index));
struct pt_regs___arm64 {
  int syscallno;
} __attribute__((preserve_access_index));

/* Since Linux 5.18 sched_switch hands over the previous state as its fourth argument; set from BTF before loading.
 * Reading task->__state instead can see what a concurrent wake-up already changed. */
const volatile kvet_u32 has_state_argument = 0;

/* An event is 104 bytes; 8 MiB hold about 80,000. Read every 5 ms, that is 16 million switches per second, far above
 * what a machine does. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 8 << 20);
} events SEC(".maps");

struct interval {
  kvet_u32 process_id; /* kept, since a thread that exits loses its numbers before it leaves for the last time */
  kvet_u32 thread_id;
  kvet_u64 start_ns;
  kvet_u64 wake_ns;
  kvet_u32 state;
  kvet_i32 system_call;
  kvet_u32 cpu;
  kvet_u32 taker_thread_id;
  kvet_u32 waker_thread_id;
  kvet_u32 preempted;
  char taker_name[16];
};

/* Threads that are off the CPU now, by the kernel's own number of them. Allocated beforehand, since the scheduler's locks are held where it is filled. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 32768);
  __type(key, kvet_u32);
  __type(value, struct interval);
} intervals SEC(".maps");

/* Who ran on this CPU lately, so that a thread which waited for it can name who had it. A thread that waits through more
 * than 16 turns sees the last of them. */
#define RUNS_KEPT 16
struct run {
  kvet_u64 end_ns;
  kvet_u64 ran_ns;
  kvet_u32 thread_id; /* 0: idle */
  kvet_u32 padding;
  char name[16];
};
struct cpu_runs {
  kvet_u64 switched_ns;
  kvet_u32 next;
  kvet_u32 padding;
  struct run runs[RUNS_KEPT];
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, kvet_u32);
  __type(value, struct cpu_runs);
} lately SEC(".maps");

/* __TASK_STOPPED and above that never run again: EXIT_DEAD 0x10, EXIT_ZOMBIE 0x20, TASK_DEAD 0x80. */
#define STATE_ENDED 0xb0

static __always_inline kvet_i32 current_system_call(void) {
  /* At the tracepoint `current` is still the thread that leaves. Exceptions and interrupts set the field to −1. */
  struct task_struct* task = (struct task_struct*)bpf_get_current_task_btf();
  void* registers = (void*)bpf_task_pt_regs((void*)task);
  if (!registers) {
    return -1;
  }
#if defined(__TARGET_ARCH_arm64)
  kvet_i32 number = -1;
  if (bpf_core_read(&number, sizeof(number), &((struct pt_regs___arm64*)registers)->syscallno)) {
    return -1;
  }
  return number;
#else
  unsigned long number = 0;
  if (bpf_core_read(&number, sizeof(number), &((struct pt_regs___x86*)registers)->orig_ax)) {
    return -1;
  }
  return (kvet_i32)number;
#endif
}

static __always_inline kvet_u32 previous_state(struct task_struct* task, struct bpf_raw_tracepoint_args* context) {
  if (has_state_argument) {
    return (kvet_u32)context->args[3];
  }
  if (bpf_core_field_exists(task->__state)) {
    return BPF_CORE_READ(task, __state);
  }
  return (kvet_u32)BPF_CORE_READ((struct task_struct___state_5_13*)task, state);
}

static __always_inline void send(struct interval* interval, kvet_u64 end_ns) {
  struct kvet_event_off_cpu* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    count(KVET_COUNTER_RESERVE_FAILED);
    return;
  }
  event->header.kind = KVET_EVENT_OFF_CPU;
  event->header.size = sizeof(*event);
  event->header.time_ns = interval->start_ns;
  event->header.process_id = interval->process_id;
  event->header.thread_id = interval->thread_id;
  event->wake_ns = interval->wake_ns;
  event->end_ns = end_ns;
  event->state = interval->state;
  event->system_call = interval->system_call;
  event->cpu = interval->cpu;
  event->taker_thread_id = interval->taker_thread_id;
  __builtin_memcpy(event->taker_name, interval->taker_name, sizeof(event->taker_name));
  event->waker_thread_id = interval->waker_thread_id;
  event->preempted = interval->preempted;
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  count(KVET_COUNTER_EVENTS);
}

/* Some kernels do not show the switch away from certain threads of their own, and so not who came after them. That
 * thread's arrival follows from how long it has run since: what the scheduler added to its run time. */
static __always_inline kvet_u64 arrival_of(struct task_struct* task, struct interval* interval, kvet_u64 now) {
  kvet_u64 ran = BPF_CORE_READ(task, se.sum_exec_runtime) - BPF_CORE_READ(task, se.prev_sum_exec_runtime);
  kvet_u64 earliest = interval->wake_ns ? interval->wake_ns : interval->start_ns;
  return ran < now - earliest ? now - ran : earliest;
}

static __always_inline void leaves(struct bpf_raw_tracepoint_args* context, kvet_u32 process_id,
                                   struct task_struct* task, struct task_struct* next, kvet_u64 now) {
  kvet_u32 key = BPF_CORE_READ(task, pid);
  kvet_u32 state = previous_state(task, context);
  _Bool involuntary = context->args[0] != 0;
  struct interval* open = bpf_map_lookup_elem(&intervals, &key);
  struct interval interval = {};

  if (open) {
    send(open, arrival_of(task, open, now));
  }
  if (state & STATE_ENDED) {
    bpf_map_delete_elem(&intervals, &key);
    return;
  }
  interval.process_id = process_id;
  interval.thread_id = thread_id_of(task);
  interval.start_ns = now;
  /* Preempted on the way into a wait: it is still runnable, whatever state it had set. */
  interval.state = involuntary ? 0 : state;
  interval.system_call = current_system_call();
  interval.cpu = bpf_get_smp_processor_id();
  if (BPF_CORE_READ(next, pid)) {
    interval.taker_thread_id = thread_id_of(next);
    if (!interval.taker_thread_id) {
      interval.taker_thread_id = KVET_THREAD_UNSEEN;
    }
    BPF_CORE_READ_INTO(&interval.taker_name, next, comm);
  }
  if (interval.state == 0) {
    interval.wake_ns = now;
    interval.preempted = KVET_OFF_CPU_PREEMPTED;
    /* Since Linux 6.18 a thread whose cgroup used up its quota leaves by itself, marked so. */
    if (bpf_core_field_exists(task->throttled) && BPF_CORE_READ(task, throttled)) {
      interval.preempted = KVET_OFF_CPU_THROTTLED;
    }
  }
  if (bpf_map_update_elem(&intervals, &key, &interval, BPF_ANY)) {
    count(KVET_COUNTER_MAP_FULL);
  }
}

static __always_inline void note_run(struct task_struct* previous, kvet_u64 now) {
  kvet_u32 zero = 0;
  struct cpu_runs* cpu = bpf_map_lookup_elem(&lately, &zero);
  struct run* run;

  if (!cpu) {
    return;
  }
  run = &cpu->runs[cpu->next & (RUNS_KEPT - 1)];
  run->end_ns = now;
  run->ran_ns = cpu->switched_ns ? now - cpu->switched_ns : 0;
  run->thread_id = 0;
  if (BPF_CORE_READ(previous, pid)) {
    run->thread_id = thread_id_of(previous);
    if (!run->thread_id) {
      run->thread_id = KVET_THREAD_UNSEEN;
    }
    BPF_CORE_READ_INTO(&run->name, previous, comm);
  }
  cpu->switched_ns = now;
  cpu->next++;
}

/* Who ran first after a preempted thread need not be who kept it waiting: often a kernel thread slips in for some
 * microseconds. So it is who ran longest in one go while the thread was runnable. */
static __always_inline void name_holder(struct interval* interval) {
  kvet_u32 zero = 0;
  struct cpu_runs* cpu = bpf_map_lookup_elem(&lately, &zero);
  kvet_u64 longest = 0;
  kvet_u32 holder = RUNS_KEPT;
  kvet_u32 i;

  if (interval->state == 0) {
    /* Where nobody took the CPU, that says why it waited; where it went on elsewhere, this CPU knows nothing of it. */
    if (!interval->taker_thread_id || interval->cpu != bpf_get_smp_processor_id()) {
      return;
    }
  } else {
    interval->taker_thread_id = 0; /* who ran while it slept took nothing from it */
    __builtin_memset(interval->taker_name, 0, sizeof(interval->taker_name));
  }
  if (!cpu || !interval->wake_ns) {
    return;
  }
  for (i = 1; i <= RUNS_KEPT; ++i) {
    struct run* run = &cpu->runs[(cpu->next - i) & (RUNS_KEPT - 1)];
    kvet_u64 within;
    if (run->end_ns <= interval->wake_ns) {
      break;
    }
    within = run->end_ns - interval->wake_ns;
    within = within < run->ran_ns ? within : run->ran_ns;
    if (within > longest) {
      longest = within;
      holder = (cpu->next - i) & (RUNS_KEPT - 1);
    }
  }
  if (holder < RUNS_KEPT && cpu->runs[holder].thread_id) {
    interval->taker_thread_id = cpu->runs[holder].thread_id;
    __builtin_memcpy(interval->taker_name, cpu->runs[holder].name, sizeof(interval->taker_name));
  }
}

static __always_inline void arrives(struct task_struct* task, kvet_u64 now) {
  kvet_u32 key = BPF_CORE_READ(task, pid);
  struct interval* interval = bpf_map_lookup_elem(&intervals, &key);

  if (interval) {
    name_holder(interval);
    send(interval, now);
    bpf_map_delete_elem(&intervals, &key);
  }
}

SEC("raw_tp/sched_switch")
int sched_switch(struct bpf_raw_tracepoint_args* context) {
  struct task_struct* previous = (struct task_struct*)context->args[1];
  struct task_struct* next = (struct task_struct*)context->args[2];
  kvet_u64 now = bpf_ktime_get_ns();

  kvet_u32 process_id = process_id_of(previous);

  if (is_target(process_id)) {
    leaves(context, process_id, previous, next, now);
  }
  note_run(previous, now);
  arrives(next, now);
  return 0;
}

static __always_inline void wakes(struct task_struct* task, _Bool by_current) {
  kvet_u32 key = BPF_CORE_READ(task, pid);
  struct interval* interval = bpf_map_lookup_elem(&intervals, &key);

  if (!interval || interval->wake_ns) {
    return;
  }
  interval->wake_ns = bpf_ktime_get_ns();
  if (by_current) {
    /* 0 on an idle CPU: the wake-up came from an interrupt. */
    interval->waker_thread_id = (kvet_u32)current_ids();
  }
}

/* sched_waking runs on the waker's CPU and names it; but a wake-up that races with the switch finds no interval yet
 * there, and only the later sched_wakeup (perhaps on another CPU, so without a waker) does. */
SEC("raw_tp/sched_waking")
int sched_waking(struct bpf_raw_tracepoint_args* context) {
  wakes((struct task_struct*)context->args[0], 1);
  return 0;
}

SEC("raw_tp/sched_wakeup")
int sched_wakeup(struct bpf_raw_tracepoint_args* context) {
  wakes((struct task_struct*)context->args[0], 0);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
