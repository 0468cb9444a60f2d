// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
// What the injected library hands to the recorder: fixed-size records in batches, and an append-only table of names.
// Plain C, because it is compiled for BPF, for the injected library (libc only) and for the recorder alike.
// All times are CLOCK_MONOTONIC nanoseconds unless a field says otherwise. Little-endian; one machine, one boot.
#ifndef KVET_ABI_RECORDS_H
#define KVET_ABI_RECORDS_H

#ifdef __bpf__
typedef unsigned char kvet_u8;
typedef unsigned short kvet_u16;
typedef unsigned int kvet_u32;
typedef int kvet_i32;
typedef unsigned long long kvet_u64;
typedef long long kvet_i64;
#define KVET_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#else
#include <stdint.h>
typedef uint8_t kvet_u8;
typedef uint16_t kvet_u16;
typedef uint32_t kvet_u32;
typedef int32_t kvet_i32;
typedef uint64_t kvet_u64;
typedef int64_t kvet_i64;
#ifdef __cplusplus
#define KVET_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define KVET_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#endif

// Bumped whenever anything in this file changes shape. The recorder refuses a library of another version.
#define KVET_ABI_VERSION 3u

// ---------------------------------------------------------------------------------------------------------------
// Records: 64 bytes each, so that a batch of 8, 64 or 256 has a constant size for the BPF verifier.

enum kvet_record_kind {
  KVET_RECORD_NONE = 0,  // padding at the end of a batch that is not full
  KVET_RECORD_EXECUTION = 1,
  KVET_RECORD_API_CALL = 2,
  KVET_RECORD_TRANSFER = 3,
  KVET_RECORD_RANGE = 4,
  KVET_RECORD_LOSS = 5,
};

// One run of one kernel on a device. Source: CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL.
struct kvet_record_execution {
  kvet_u16 kind;  // KVET_RECORD_EXECUTION
  kvet_u16 device;  // ordinal in the target process; the table's DEVICE entry has its UUID
  kvet_u32 correlation_id;  // joins the launch call of the same process
  kvet_u64 start_ns;
  kvet_u64 end_ns;
  kvet_u64 graph_node_id;  // 0: not from a graph
  kvet_u32 graph_id;  // 0: not from a graph
  kvet_u32 context_id;
  kvet_u32 stream_id;
  kvet_u32 shape;  // index of the SHAPE entry in the table
  kvet_u64 queued_ns;  // 0: unknown
  kvet_u32 channel_id;
  kvet_u32 reserved;
};

// One driver-API call of interest on a host thread. Source: CUPTI_ACTIVITY_KIND_DRIVER, enabled per entry point.
enum kvet_api_kind {
  KVET_API_LAUNCH_KERNEL = 1,
  KVET_API_LAUNCH_COOPERATIVE = 2,
  KVET_API_LAUNCH_GRAPH = 3,
  KVET_API_LAUNCH_HOST_FUNCTION = 4,
  KVET_API_SYNCHRONIZE_STREAM = 16,
  KVET_API_SYNCHRONIZE_CONTEXT = 17,
  KVET_API_SYNCHRONIZE_EVENT = 18,
  KVET_API_SYNCHRONIZE_COPY = 19,  // a copy that returns only when it is done
  KVET_API_COPY_ASYNC = 20,  // copy or memset, asynchronous
  KVET_API_WAIT_FOR_QUEUE = 21,  // not a call: the part of a launch (by correlation) that waited for room in the queue
  KVET_API_CAPTURE_BEGIN = 32,  // not events of their own: launches between them on a thread may execute nothing
  KVET_API_CAPTURE_END = 33,
};
struct kvet_record_api_call {
  kvet_u16 kind;  // KVET_RECORD_API_CALL
  kvet_u16 api;  // enum kvet_api_kind
  kvet_u32 correlation_id;
  kvet_u64 start_ns;
  kvet_u64 end_ns;
  kvet_u32 thread_id;  // as the target sees it (its own pid namespace)
  kvet_i32 result;  // CUresult
  kvet_u32 callback_id;  // CUPTI's driver callback id, for the exact entry point
  kvet_u32 reserved[6];
};

// One copy or memset on a device. Source: CUPTI_ACTIVITY_KIND_MEMCPY, MEMCPY2 (peer), MEMSET.
enum kvet_transfer_kind {
  KVET_TRANSFER_HOST_TO_DEVICE = 1,
  KVET_TRANSFER_DEVICE_TO_HOST = 2,
  KVET_TRANSFER_DEVICE_TO_DEVICE = 3,
  KVET_TRANSFER_PEER = 4,
  KVET_TRANSFER_MEMSET = 5,
  KVET_TRANSFER_OTHER = 6,
};
struct kvet_record_transfer {
  kvet_u16 kind;  // KVET_RECORD_TRANSFER
  kvet_u16 device;
  kvet_u32 correlation_id;
  kvet_u64 start_ns;
  kvet_u64 end_ns;
  kvet_u64 bytes;
  kvet_u64 graph_node_id;
  kvet_u32 graph_id;
  kvet_u32 context_id;
  kvet_u32 stream_id;
  kvet_u16 transfer;  // enum kvet_transfer_kind
  kvet_u16 peer_device;
  kvet_u32 reserved[2];
};

// One NVTX range, closed. Source: CUPTI_ACTIVITY_KIND_MARKER pairs, matched in the target.
struct kvet_record_range {
  kvet_u16 kind;  // KVET_RECORD_RANGE
  kvet_u16 flags;  // bit 0: start/end range (may cross threads), else push/pop
  kvet_u32 name;  // index of the STRING entry
  kvet_u64 start_ns;
  kvet_u64 end_ns;
  kvet_u32 thread_id;  // as the target sees it; 0: unknown
  kvet_u32 domain;  // index of the STRING entry, 0: default domain
  kvet_u32 reserved[8];
};

// Something that was not recorded. Losses add up: each record holds the count since the last one.
enum kvet_loss_kind {
  KVET_LOSS_CUPTI_DROPPED = 1,  // cuptiActivityGetNumDroppedRecords
  KVET_LOSS_BAD_TIME = 2,  // zero or inverted time stamps, quarantined
  KVET_LOSS_BATCH_SLOT = 3,  // no free batch slot in the target (records)
  KVET_LOSS_TABLE_FULL = 4,  // the name table is full (entries)
  KVET_LOSS_NO_READER = 5,  // nobody attached to the probe (records)
  KVET_LOSS_UNKNOWN_RECORD = 6,  // an activity kind that we did not ask for
  KVET_LOSS_BUFFER_ALLOCATION = 7,  // no memory for a CUPTI buffer (buffers)
};
struct kvet_record_loss {
  kvet_u16 kind;  // KVET_RECORD_LOSS
  kvet_u16 loss;  // enum kvet_loss_kind
  kvet_u32 reserved0;
  kvet_u64 count;
  kvet_u64 first_ns;
  kvet_u64 last_ns;
  kvet_u32 reserved[8];
};

union kvet_record {
  kvet_u16 kind;
  struct kvet_record_execution execution;
  struct kvet_record_api_call api_call;
  struct kvet_record_transfer transfer;
  struct kvet_record_range range;
  struct kvet_record_loss loss;
  kvet_u8 bytes[64];
};
KVET_STATIC_ASSERT(sizeof(union kvet_record) == 64, "records are 64 bytes");
KVET_STATIC_ASSERT(sizeof(struct kvet_record_execution) == 64, "execution is 64 bytes");
KVET_STATIC_ASSERT(sizeof(struct kvet_record_api_call) == 64, "api_call is 64 bytes");
KVET_STATIC_ASSERT(sizeof(struct kvet_record_transfer) == 64, "transfer is 64 bytes");
KVET_STATIC_ASSERT(sizeof(struct kvet_record_range) == 64, "range is 64 bytes");
KVET_STATIC_ASSERT(sizeof(struct kvet_record_loss) == 64, "loss is 64 bytes");

// ---------------------------------------------------------------------------------------------------------------
// A batch, as the injected library lays it out in its own memory. Capacity is 8, 64 or 256 records; the library picks
// the smallest that holds what it has. The USDT probe kvet:batch passes (address of the header, capacity).
enum { KVET_BATCH_SMALL = 8, KVET_BATCH_MEDIUM = 64, KVET_BATCH_LARGE = 256 };
struct kvet_batch_header {
  kvet_u32 abi_version;
  kvet_u32 count;  // records in use, ≤ capacity
  kvet_u64 sequence;  // per process, from 0, no gaps: a gap is a loss
  kvet_u64 records_before;  // records handed over in earlier batches: says how many a gap lost
  kvet_u32 target_pid;  // as the target sees it
  kvet_u32 capacity;
  kvet_u64 table_address;  // of the kvet_table in the target; in the memory-file tier its offset in the file
  kvet_u64 table_used;  // bytes of the table that are complete when this batch was made
  kvet_u32 table_generation;
  kvet_u32 last;  // 1: the process is finishing, no more batches are expected
  kvet_u64 reserved;
};
KVET_STATIC_ASSERT(sizeof(struct kvet_batch_header) == 64, "batch header is 64 bytes");

// ---------------------------------------------------------------------------------------------------------------
// The table: one per target process, in shared memory (a memfd named "kvet-table", mapped shared and never unmapped),
// so that the recorder can open it through /proc/PID/map_files and still read it after the target has died. Entries
// are appended, never changed; `used` is stored with release order after the entry is complete.
#define KVET_TABLE_MAGIC 0x4c42415454455645ull  // "EVETTABL" read as little-endian bytes
#define KVET_TABLE_BYTES (64u << 20)  // sparse. 64 MiB hold about 300,000 names of 200 bytes
// The recorder knows that nothing will come from this process, and records what it can without.
#define KVET_TABLE_ACKNOWLEDGED 0x80000000u
struct kvet_table {
  kvet_u64 magic;
  kvet_u32 abi_version;
  kvet_u32 target_pid;
  kvet_u64 used;  // bytes after this header that are complete
  kvet_u32 generation;  // grows when the table starts anew (after fork)
  kvet_u32 finished;  // 1: the process flushed everything and said goodbye, or never will have anything to say (status)
  kvet_u32 recorder_pid;  // written by nobody but the recorder: who is reading, and KVET_TABLE_ACKNOWLEDGED
  kvet_u32 status;  // enum kvet_inject_status
  kvet_u32 status_code;  // CUptiResult or errno that belongs to the status
  kvet_u32 cupti_version;  // as cuptiGetVersion says it; 0: unknown
  kvet_u64 batches_sent;  // what was handed over so far: tells the tail that a full ring lost, also after a SIGKILL
  kvet_u64 records_sent;
  // When CUPTI was last asked for what it holds, and answered; 0: never yet. What a process that ends without its exit
  // handlers takes with it is no older.
  kvet_u64 flushed_ns;
  kvet_u32 queue_waits;  // 1: launches that wait for room in the queue are told
  kvet_u32 reserved0;
  kvet_u64 reserved[6];
};
KVET_STATIC_ASSERT(sizeof(struct kvet_table) == 128, "table header is 128 bytes");

// Why the injected library is or is not recording; doctor and report turn it into a sentence.
enum kvet_inject_status {
  KVET_INJECT_STARTING = 0,
  KVET_INJECT_RECORDING = 1,
  KVET_INJECT_NO_CUPTI = 2,  // no libcupti in the target's view
  KVET_INJECT_CUPTI_TOO_OLD = 3,  // a symbol or a record version is missing
  KVET_INJECT_CUPTI_HELD = 4,  // another profiler holds CUPTI (error 39 and its kin)
  KVET_INJECT_CUPTI_FAILED = 5,  // any other CUPTI error: status_code
  KVET_INJECT_NO_PROBE = 6,  // nobody attached within the wait; recording goes on, losses are counted
  KVET_INJECT_FORKED = 7,  // a child of a process that had initialised CUDA: CUDA is dead there
  KVET_INJECT_READER_GONE = 8,  // nobody has read for half a minute: CUPTI was switched off for good
};

enum kvet_entry_kind {
  KVET_ENTRY_STRING = 1,
  KVET_ENTRY_SHAPE = 2,
  KVET_ENTRY_DEVICE = 3,
  KVET_ENTRY_CONTEXT = 4,
  KVET_ENTRY_STREAM = 5,
};
// Every entry begins with this and is padded to 8 bytes. Indices count entries of all kinds, from 1; 0 means "none".
struct kvet_entry {
  kvet_u16 kind;
  kvet_u16 reserved;
  kvet_u32 size;  // bytes of the whole entry, this header included, padded
  kvet_u32 index;
  kvet_u32 reserved2;
};
KVET_STATIC_ASSERT(sizeof(struct kvet_entry) == 16, "entry header is 16 bytes");

struct kvet_entry_string {
  struct kvet_entry entry;
  kvet_u32 length;  // bytes; longer than 65,536 is cut
  kvet_u32 reserved;
  // followed by the bytes, not terminated
};
// What a kernel was launched with: the resources that decide its occupancy.
struct kvet_entry_shape {
  struct kvet_entry entry;
  kvet_u32 name;  // index of a STRING entry: the mangled name
  kvet_u32 registers_per_thread;
  kvet_u32 grid[3];
  kvet_u32 block[3];
  kvet_u32 cluster[3];  // 0: no clusters
  kvet_u32 static_shared_bytes;
  kvet_u32 dynamic_shared_bytes;
  kvet_u32 shared_executed_bytes;  // what the driver configured per SM (carve-out); 0: unknown
  kvet_u32 local_bytes_per_thread;
  kvet_u32 launch_type;  // 0 regular, 1 cooperative single, 2 cooperative multi, 3 device graph, as CUPTI says
  kvet_u64 code_hash;  // 0: unknown
  kvet_u32 max_active_clusters;  // 0: unknown
  kvet_u32 reserved;
};
struct kvet_entry_device {
  struct kvet_entry entry;
  kvet_u32 ordinal;
  kvet_u32 name;  // STRING
  kvet_u8 uuid[16];
  kvet_u32 compute_major, compute_minor;
  kvet_u32 multiprocessors;
  kvet_u32 core_clock_khz;
  kvet_u64 memory_bandwidth_kb_per_s;
  kvet_u64 memory_bytes;
  kvet_u32 max_warps_per_multiprocessor;
  kvet_u32 max_blocks_per_multiprocessor;
  kvet_u32 max_registers_per_multiprocessor;
  kvet_u32 max_registers_per_block;
  kvet_u32 max_shared_bytes_per_multiprocessor;
  kvet_u32 max_shared_bytes_per_block;
  kvet_u32 threads_per_warp;
  kvet_u32 l2_bytes;  // 0: unknown
  kvet_u32 mig;  // 1: not a whole GPU but a MIG instance, and the UUID is the instance's
  kvet_u32 reserved;
};
// How a context's process shares the device with others.
enum kvet_context_sharing {
  KVET_CONTEXT_UNKNOWN = 0,
  KVET_CONTEXT_TIME_SLICED = 1,  // takes turns with contexts of other processes
  KVET_CONTEXT_MPS = 2,  // a client of the Multi-Process Service: overlaps other clients
};
struct kvet_entry_context {
  struct kvet_entry entry;
  kvet_u32 context_id;
  kvet_u32 device_ordinal;
  kvet_u32 null_stream_id;
  kvet_u32 sharing;  // enum kvet_context_sharing
  kvet_u32 parent_context_id;  // of a green context; 0: none, or unknown
  kvet_u32 green;  // 1: a green context
  kvet_u32 multiprocessors;  // that a green context may use; 0: unknown
  kvet_u32 thread_centipercent;  // CUDA_MPS_ACTIVE_THREAD_PERCENTAGE × 100, of an MPS client; 0: not set
};
struct kvet_entry_stream {
  struct kvet_entry entry;
  kvet_u32 context_id;
  kvet_u32 stream_id;
  kvet_i32 priority;
  kvet_u32 flags;
};

// ---------------------------------------------------------------------------------------------------------------
// The memory-file tier (no privileges): `kvet record` makes a memfd, the target inherits it as descriptor
// $KVET_MEMORY_FD; a launcher that closes inherited descriptors (Python's subprocess does) leaves $KVET_MEMORY_PATH, which
// is /proc/RECORDER/fd/N. A header, then a ring of slots (one batch each), then tables. A writer takes ticket `head` by
// compare-and-swap, only when the slot of that ticket is free: a full ring costs no ticket, so that the recorder, which
// frees slots in order, never waits for one that nobody will fill. A batch that finds the ring full is dropped and
// counted, as KVET_LOSS_BATCH_SLOT by its process (that is the record of it) and in `dropped_records` (for a process that
// cannot send it any more).
#define KVET_MEMORY_MAGIC 0x4d454d5454455645ull
#define KVET_MEMORY_SLOTS 1024u  // 1024 × 256 records = 262,144 records: 0.8 s at 300 k/s, polled every few ms
#define KVET_MEMORY_TABLES 64u  // processes with a table of their own
struct kvet_memory_slot {
  kvet_u64 state;  // ticket × 2: free for that ticket; ticket × 2 + 1: filled by it. Compare-and-swap on both ends
  kvet_u32
      thread_id;  // of the writer, as the target sees it, set when the ticket was taken: it may die before it fills
  kvet_u32 reserved;
  kvet_u64 padding[6];
  struct kvet_batch_header header;
  union kvet_record records[KVET_BATCH_LARGE];
};
KVET_STATIC_ASSERT(sizeof(struct kvet_memory_slot) == 64 + 64 + 256 * 64, "slot size");
struct kvet_memory_header {
  kvet_u64 magic;
  kvet_u32 abi_version;
  kvet_u32 slots;
  kvet_u64 head;  // next ticket; slot ticket % slots
  kvet_u64 dropped_records;
  kvet_u32 tables_used;  // atomic add hands out tables
  kvet_u32 tables;
  kvet_u64 slots_offset;
  kvet_u64 tables_offset;
  kvet_u64 reserved;
};
KVET_STATIC_ASSERT(sizeof(struct kvet_memory_header) == 64, "memory header is 64 bytes");

#endif
