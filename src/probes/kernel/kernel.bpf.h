/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all of kvet's BPF programs have in common: the map of processes that are recorded, and the counters.
 *
 * Each program is its own BPF object with its own ring buffer and counters, so that a loss has a source; `targets` is
 * one map that the recorder makes once and gives to all of them.
 */
#ifndef KVET_PROBES_KERNEL_BPF_H
#define KVET_PROBES_KERNEL_BPF_H

#include <linux/bpf.h>
/* After linux/bpf.h, which has the types they need. */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "abi/bpf_events.h"
#include "probes/kernel/ids.bpf.h"

#define KVET_MAX_TARGETS 16384 /* processes at a time; a process leaves the map when it exits */

/* Present: the process with this id (as the recorder sees it) is recorded. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, KVET_MAX_TARGETS);
  __type(key, kvet_u32);
  __type(value, kvet_u32);
} targets SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, KVET_COUNTER_LIMIT);
  __type(key, kvet_u32);
  __type(value, kvet_u64);
} counters SEC(".maps");

static __always_inline void count(kvet_u32 counter) {
  kvet_u64* value = bpf_map_lookup_elem(&counters, &counter);
  if (value) {
    *value += 1;
  }
}

static __always_inline int is_target(kvet_u32 process_id) { return bpf_map_lookup_elem(&targets, &process_id) != 0; }

#endif
