// SPDX-License-Identifier: GPL-2.0
// Copies batches that an injected library offers at its probe kvet:batch(header, capacity) into a ring buffer.
//
// Header and records lie in one piece in the target, and so they do in the event: one copy per batch. The verifier refuses
// reservations of variable size, so there is one constant size for each of the three capacities. The recorder polls every
// few milliseconds: no wake-up per batch.
#include "probes/kernel/kernel.bpf.h"
// After the helpers.
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

char LICENSE[] SEC("license") = "GPL";

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 32 << 20);  // set anew before loading
} batches SEC(".maps");

// Set before loading. Whoever can read the library's file can map it and hit its probe.
const volatile bool only_targets = false;

// `records` and `sleepable` are constants at every call.
static __always_inline int copy_batch(const void* address, const __u64 records, const int sleepable) {
  const __u64 copied = sizeof(struct kvet_batch_header) + records * sizeof(union kvet_record);
  const __u64 size = sizeof(struct kvet_event_batch) + records * sizeof(union kvet_record);
  struct kvet_event_batch* event = bpf_ringbuf_reserve(&batches, size, 0);
  if (!event) {
    count(KVET_COUNTER_BATCH_RESERVE_FAILED);
    return 0;
  }
  const __u64 id = current_ids();
  event->header.kind = KVET_EVENT_BATCH;
  event->header.size = size;
  event->header.time_ns = bpf_ktime_get_ns();
  event->header.process_id = id >> 32;
  event->header.thread_id = (__u32)id;
  event->reserved = 0;
  const long failed = sleepable ? bpf_copy_from_user(&event->batch, copied, address)
                                : bpf_probe_read_user(&event->batch, copied, address);
  if (failed) {  // a page that is not present, or an address that is none
    bpf_ringbuf_discard(event, BPF_RB_NO_WAKEUP);
    count(KVET_COUNTER_BATCH_COPY_FAILED);
    return 0;
  }
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  count(KVET_COUNTER_EVENTS);
  return 0;
}

static __always_inline int take_batch(struct pt_regs* context, const int sleepable) {
  long address = 0;
  long capacity = 0;
  if (only_targets && !is_target(current_ids() >> 32)) {
    return 0;
  }
  if (bpf_usdt_arg(context, 0, &address) || bpf_usdt_arg(context, 1, &capacity)) {
    count(KVET_COUNTER_BATCH_COPY_FAILED);
    return 0;
  }
  if (capacity == KVET_BATCH_SMALL) {
    return copy_batch((const void*)address, KVET_BATCH_SMALL, sleepable);
  }
  if (capacity == KVET_BATCH_MEDIUM) {
    return copy_batch((const void*)address, KVET_BATCH_MEDIUM, sleepable);
  }
  if (capacity == KVET_BATCH_LARGE) {
    return copy_batch((const void*)address, KVET_BATCH_LARGE, sleepable);
  }
  count(KVET_COUNTER_BATCH_COPY_FAILED);
  return 0;
}

// One of the two is loaded. The sleepable one can fault a page in; "usdt.s" is unknown to libbpf 1.1, and
// bpf_program__attach_usdt takes a program of this section as well.
SEC("uprobe.s")
int batch_sleepable(struct pt_regs* context) { return take_batch(context, 1); }

SEC("usdt")
int batch_plain(struct pt_regs* context) { return take_batch(context, 0); }
