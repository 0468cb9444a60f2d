// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
// What the counter sampler (`kvet __sampler`, a child of the recorder) writes into its pipe: a stream of messages, each
// a header and a body of the one size that its kind has. The sampler is the same program as the recorder, so the
// version only guards against a program that was replaced on disk while it ran. Plain values, one machine, one boot.
#ifndef KVET_ABI_COUNTERS_H
#define KVET_ABI_COUNTERS_H

#include "abi/records.h"

#define KVET_SAMPLER_VERSION 2u

enum kvet_sampler_message_kind {
  KVET_SAMPLER_HELLO = 1,
  KVET_SAMPLER_DEVICE = 2,
  KVET_SAMPLER_CLOCK = 3,
  KVET_SAMPLER_SAMPLE = 4,
  KVET_SAMPLER_READING = 5,
  KVET_SAMPLER_LOSS = 6,
  KVET_SAMPLER_STATUS = 7,
  KVET_SAMPLER_READY = 8,
  KVET_SAMPLER_END = 9,
  KVET_SAMPLER_ANCHOR = 10,
};

// What the recorder writes into the control pipe when the sampler is to stop: how many ms there are to drain, and whether pulses
// are to be left out at the end, since the target lives on.
#define KVET_SAMPLER_STOP_WITHOUT_PULSES (1ull << 63)

struct kvet_sampler_header {
  kvet_u32 kind;  // enum kvet_sampler_message_kind
  kvet_u32 size;  // of header and body together
};
KVET_STATIC_ASSERT(sizeof(struct kvet_sampler_header) == 8, "sampler header is 8 bytes");

// First message.
struct kvet_sampler_hello {
  struct kvet_sampler_header header;
  kvet_u32 version;
  kvet_u32 process_id;
};

// One GPU. `index` is the sampler's own; every later message uses it. Zero: unknown.
struct kvet_sampler_device {
  struct kvet_sampler_header header;
  kvet_u32 index;
  kvet_u32 power_limit_milliwatts;
  kvet_u8 uuid[16];
  kvet_u32 compute_major, compute_minor;
  kvet_u32 multiprocessors;
  kvet_u32 max_warps_per_multiprocessor;
  kvet_u32 max_blocks_per_multiprocessor;
  kvet_u32 max_registers_per_multiprocessor;
  kvet_u32 max_shared_bytes_per_multiprocessor;
  kvet_u32 max_shared_bytes_per_block;
  kvet_u64 memory_bytes;
  kvet_u64 memory_bandwidth_bytes_per_s;
  kvet_u64 l2_bytes;
  char name[96];
  char driver_version[32];
};

// What is known about the offset between the samples' clock and CLOCK_MONOTONIC without looking at any kernel: at
// `raw_ns` of the samples' clock, CLOCK_MONOTONIC was between the two bounds. One per device, before its first sample.
struct kvet_sampler_clock {
  struct kvet_sampler_header header;
  kvet_u32 device;
  kvet_u32 reserved;
  kvet_u64 raw_ns;
  kvet_u64 earliest_ns;
  kvet_u64 latest_ns;
};

// What a train of pulses said about that offset, before the first sample that counts or after the last: at `raw_ns` of
// the samples' clock CLOCK_MONOTONIC was `monotonic_ns`. Where `known` is 0 it said nothing, and `text` why.
enum kvet_sampler_anchor_moment {
  KVET_SAMPLER_BEFORE = 0,
  KVET_SAMPLER_AFTER = 1,
};
struct kvet_sampler_anchor {
  struct kvet_sampler_header header;
  kvet_u32 device;
  kvet_u32 moment;  // enum kvet_sampler_anchor_moment
  kvet_u32 known;
  kvet_u32 pulses;  // that could be used
  kvet_u64 raw_ns;
  kvet_u64 monotonic_ns;
  kvet_u64 residual_ns, residual_p95_ns;
  kvet_i64 bracket_ns, unlogged_ns, scatter_ns;  // see clocks/pulse_fit.h
  char text[400];  // terminated
};
KVET_STATIC_ASSERT(sizeof(struct kvet_sampler_anchor) == 480, "anchor is 480 bytes");

// Which field of model/events.h's Sample a value is.
enum kvet_counter_field {
  KVET_COUNTER_CYCLES_ELAPSED = 0,
  KVET_COUNTER_SM_ACTIVE_CYCLES = 1,
  KVET_COUNTER_WARP_CYCLES = 2,
  KVET_COUNTER_WARPS_MAX = 3,
  KVET_COUNTER_WARPS_MIN = 4,
  KVET_COUNTER_REGISTER_CYCLES = 5,
  KVET_COUNTER_SHARED_BYTE_CYCLES = 6,
  KVET_COUNTER_WARPS_LAUNCHED = 7,
  KVET_COUNTER_BLOCKS_COMPLETED = 8,
  KVET_COUNTER_DRAM_READ_BYTES = 9,
  KVET_COUNTER_DRAM_WRITE_BYTES = 10,
  KVET_COUNTER_INSTRUCTIONS = 11,
  KVET_COUNTER_TENSOR_CYCLES = 12,
  KVET_COUNTER_L2_SECTORS = 13,
  KVET_COUNTER_CONTEXT_SWITCH_CYCLES = 14,
  KVET_COUNTER_FIELDS = 15,
};

// One sample. Times are raw: the clock that CUPTI stamps performance-monitor samples with.
struct kvet_sampler_sample {
  struct kvet_sampler_header header;
  kvet_u32 device;
  kvet_u32 known;  // bit f: values[f] was read
  kvet_u64 start_ns;
  kvet_u64 end_ns;
  double values[KVET_COUNTER_FIELDS];
};
KVET_STATIC_ASSERT(sizeof(struct kvet_sampler_sample) == 152, "sample is 152 bytes");

// One NVML reading at a time of CLOCK_MONOTONIC.
enum kvet_reading_field {
  KVET_READING_POWER = 1u << 0,
  KVET_READING_SM_CLOCK = 1u << 1,
  KVET_READING_MEMORY_CLOCK = 1u << 2,
  KVET_READING_TEMPERATURE = 1u << 3,
  KVET_READING_THROTTLE = 1u << 4,
  KVET_READING_GPM_OCCUPANCY = 1u << 5,
  KVET_READING_GPM_DRAM = 1u << 6,
  KVET_READING_GPM_SM_ACTIVE = 1u << 7,
};
struct kvet_sampler_reading {
  struct kvet_sampler_header header;
  kvet_u32 device;
  kvet_u32 known;  // enum kvet_reading_field bits
  kvet_u64 time_ns;
  kvet_u32 power_milliwatts, sm_clock_mhz, memory_clock_mhz, temperature_celsius;
  kvet_u64 throttle_reasons;
  double gpm_sm_occupancy_percent, gpm_dram_percent, gpm_sm_active_percent;
};

enum kvet_sampler_loss_kind {
  KVET_SAMPLER_LOSS_OVERFLOW = 1,  // the hardware buffer was full (samples)
  KVET_SAMPLER_LOSS_GAP = 2,  // time between two samples without one (samples)
  KVET_SAMPLER_LOSS_PIPE = 3,  // the recorder did not read fast enough (samples)
  KVET_SAMPLER_LOSS_BAD_TIME = 4,  // zero, inverted or overlapping times (samples)
  KVET_SAMPLER_LOSS_UNDRAINED = 5,  // still in the hardware buffer when the time to drain it was over (samples)
};
struct kvet_sampler_loss {
  struct kvet_sampler_header header;
  kvet_u32 device;
  kvet_u32 loss;  // enum kvet_sampler_loss_kind
  kvet_u64 count;  // since the last loss of this kind
  kvet_u64 first_ns, last_ns;  // raw time of the samples' clock; 0: unknown
};

// What became of the counters of one device, or of all (device = KVET_SAMPLER_ALL_DEVICES): one sentence for people.
#define KVET_SAMPLER_ALL_DEVICES 0xffffffffu
enum kvet_sampler_state {
  KVET_SAMPLER_STATE_SAMPLING = 1,  // performance-monitor samples come; text: which metrics, comma-separated
  KVET_SAMPLER_STATE_GPM = 2,  // GPM readings come; text: "" where they were asked for, else why nothing better comes
  KVET_SAMPLER_STATE_DEGRADED = 3,  // samples come, and something is missing or late: what
  KVET_SAMPLER_STATE_REFUSED = 4,  // nothing comes: why, and what to do about it
  KVET_SAMPLER_STATE_OFF = 5,  // nothing was asked for
};
struct kvet_sampler_status {
  struct kvet_sampler_header header;
  kvet_u32 device;
  kvet_u32 state;  // enum kvet_sampler_state
  char text[1008];  // terminated
};
KVET_STATIC_ASSERT(sizeof(struct kvet_sampler_status) == 1024, "status is 1024 bytes");

// Every device was tried: samples flow from those that can be sampled.
struct kvet_sampler_ready {
  struct kvet_sampler_header header;
  kvet_u32 devices_sampled;
  kvet_u32 devices;
};

// Last message: the sampler stopped in good order and handed over all that it had.
struct kvet_sampler_end {
  struct kvet_sampler_header header;
  kvet_u64 samples_sent;
  kvet_u64 processor_time_ns;  // of the sampler, all threads
  kvet_u64 decode_processor_ns, evaluate_processor_ns;  // CUPTI's part of it: decoding samples, evaluating metrics
  kvet_u64 bursts;  // on all devices
  kvet_u64 paused_ns;  // without samples by plan, around bursts, all devices together
};

#endif
