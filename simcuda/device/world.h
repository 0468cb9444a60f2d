// The whole state of the modelled machine, as it lies in shared memory: fixed-size arrays and indices, no pointers, so that
// every process can map it anywhere. device/engine.h moves it through time. All times are CLOCK_MONOTONIC nanoseconds.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "device/limits.h"

namespace simcuda {

inline constexpr uint32_t none = 0xffffffffu;
inline constexpr int64_t never = INT64_MAX;

inline constexpr uint32_t max_devices = 8;
inline constexpr uint32_t max_processes = 512;
inline constexpr uint32_t max_streams = 4096;
inline constexpr uint32_t max_operations = 1u << 16;
inline constexpr uint32_t max_events = 1u << 14;
inline constexpr uint32_t max_communicators = 64;
inline constexpr uint32_t max_ranks = 16;
inline constexpr uint32_t max_cohorts = 256;
inline constexpr uint32_t max_waiting = 256;
// About two segments per execution: the last 65,000 executions of a device stay visible to the sampler.
inline constexpr uint32_t history_segments = 1u << 17;

enum class OperationKind : uint8_t { kernel, copy, fill, host_function, event_record, event_wait };
enum class CopyDirection : uint8_t { host_to_device, device_to_host, device_to_device };
enum class OperationState : uint8_t { free, queued, waiting, running, done };

// What one block of a kernel holds and does.
struct BlockCost {
  uint32_t warps;
  uint32_t registers;
  uint32_t shared_bytes;
  double duration_ns;  // when nothing slows it
  double read_bytes;
  double write_bytes;
  double instructions;
};

struct Operation {
  OperationKind kind;
  OperationState state;
  CopyDirection direction;
  uint8_t is_collective;
  uint32_t next;  // in the stream's queue, then in the process's list of what is done
  uint32_t stream;
  uint32_t process;
  uint32_t device;
  uint32_t correlation_id;
  uint32_t graph_id;
  uint64_t graph_node_id;
  uint64_t cookie;  // the owner's own pointer: its function, or its host function
  uint64_t argument;
  int64_t submitted_ns, ready_ns, start_ns, end_ns;
  uint64_t serial;  // order of submission in the whole machine
  // kernels
  BlockCost cost;
  uint32_t grid[3], block[3], cluster[3];
  uint32_t dynamic_shared_bytes;
  uint32_t launch_type;  // as CUPTI says: 0 regular, 1 cooperative
  int32_t priority;
  uint64_t blocks_total, blocks_placed, blocks_done;
  // copies and fills
  uint64_t bytes;
  // events
  uint32_t event;
  uint64_t event_sequence;
  // collectives: member of a communicator, and how long the transfer takes once everybody is there
  uint32_t communicator, rank;
  uint64_t collective_sequence;
  int64_t transfer_ns;
  int64_t latest_arrival_ns;  // filled in when it ends
};

struct Stream {
  uint32_t used;
  uint32_t process, device;
  uint32_t id, context_id;  // as CUPTI shows them
  int32_t priority;
  uint32_t head, tail;  // queue; the head may be running
  uint32_t depth;
  int64_t last_end_ns;
  uint64_t submitted, completed;  // operations, ever
};

struct Process {
  uint32_t used;
  int32_t pid;
  uint32_t wants_completions;  // else operations are freed as soon as they are done
  uint32_t done_head, done_tail;
  uint32_t pending;  // operations that are queued or running
};

struct Event {
  uint32_t used;
  uint32_t process;
  uint64_t issued, completed;  // sequence numbers of cuEventRecord
  int64_t time_ns;  // of the last completed one
};

struct Communicator {
  uint32_t used;
  uint8_t id[128];
  uint32_t ranks;
  uint32_t joined, left;
  uint64_t next_sequence[max_ranks];  // of the rank's next collective to start
  uint64_t last_arrived[max_ranks];  // one more than the sequence at which the rank now spins; 0: nowhere
  uint32_t operation[max_ranks];
  int64_t arrival_ns[max_ranks];
};

// Blocks of one kernel that were placed together and end together; or a copy within the device, with no blocks at all.
struct Cohort {
  uint32_t operation;
  uint32_t blocks;
  double remaining_ns;  // at full speed, counted from updated_ns
  double rate;  // 1: full speed
  int64_t updated_ns;
  double read_rate, write_rate, instruction_rate;  // per nanosecond at full speed
  uint8_t spinning;  // a collective that waits for other ranks
  uint8_t on_multiprocessor[multiprocessors];
};

struct Multiprocessor {
  uint32_t warps, blocks, registers, shared_bytes;  // in use
};

// The device between two events: constant until the next segment begins. Cumulative figures are as of `from_ns`.
struct Segment {
  int64_t from_ns;
  uint32_t warps, warps_fullest, warps_emptiest, active_multiprocessors;
  uint64_t registers, shared_bytes;
  double read_rate, write_rate, instruction_rate;  // per nanosecond
  uint64_t warps_launched, blocks_completed;  // ever
};

struct Device {
  uint8_t uuid[16];
  Multiprocessor multiprocessor[multiprocessors];
  Cohort cohorts[max_cohorts];
  uint32_t cohort_count;
  uint32_t waiting[max_waiting];  // kernels that are ready and have blocks to place, in order
  uint32_t waiting_count;
  int64_t copy_engine_free_ns[2];
  uint64_t warps_launched, blocks_completed;
  uint32_t changed;  // something began or ended since the last segment
  uint64_t segment_count;  // ever; the last history_segments are kept
  Segment history[history_segments];
};

struct World {
  uint64_t magic;
  uint32_t version;
  uint32_t device_count;
  pthread_mutex_t mutex;
  int64_t now_ns;
  int64_t start_ns;
  // The counters' own clock: raw = monotonic + offset + drift × seconds of monotonic time. Planted, for alignment to find.
  int64_t counter_offset_ns;
  double counter_drift_ns_per_s;
  uint64_t next_serial;
  uint64_t next_graph_node_id;
  uint32_t free_operation;
  uint32_t free_operations;
  uint32_t stream_limit, event_limit;  // one past the highest ever used
  uint32_t busy_streams[max_streams];  // those with something in their queue
  uint32_t busy_count;
  uint64_t changes;  // grows with every event; a sleeper that sees no change may sleep on
  Process processes[max_processes];
  Stream streams[max_streams];
  Event events[max_events];
  Communicator communicators[max_communicators];
  Operation operations[max_operations];
  Device devices[max_devices];
};

}  // namespace simcuda
