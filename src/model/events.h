// Everything that a capture can hold, as plain values. Times are nanoseconds of CLOCK_MONOTONIC after the clock
// mappings were applied; in an EventSink they are raw times of the event's own source (see ClockSource).
// An optional that is empty means "not known", never zero.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "model/ids.h"

namespace kvet {

// Each has its own raw clock; ClockMapping leads to CLOCK_MONOTONIC.
enum class ClockSource : uint8_t {
  host = 0,      // CLOCK_MONOTONIC itself: BPF programs, NVML readings
  activity = 1,  // CUPTI activity, through the time-stamp callback on CLOCK_MONOTONIC
  counters = 2,  // performance-monitor samples
  imported = 3,  // another tool's file
};

enum class Source : uint8_t { cupti, uprobe, usdt, scheduler, nccl, counters, nvml, store, recorder, imported };

struct Process {
  ProcessId id;
  int32_t pid = 0;         // in the initial pid namespace
  int32_t parent_pid = 0;
  int32_t namespace_pid = 0;  // as the process itself sees it; 0: unknown
  StringId name;
  StringId command_line;
  int64_t start_ns = 0;
  std::optional<int64_t> end_ns;
  std::optional<int32_t> exit_code;  // as wait(2) gives it
  uint32_t inject_status = 0;        // enum kvet_inject_status of abi/records.h
};

struct Device {
  DeviceId id;
  std::array<uint8_t, 16> uuid{};
  StringId name;
  uint32_t compute_major = 0, compute_minor = 0;
  uint32_t multiprocessors = 0;
  uint32_t max_warps_per_multiprocessor = 0;
  uint32_t max_blocks_per_multiprocessor = 0;
  uint32_t max_registers_per_multiprocessor = 0;
  uint32_t max_shared_bytes_per_multiprocessor = 0;
  uint32_t max_shared_bytes_per_block = 0;
  uint64_t memory_bytes = 0;
  uint64_t memory_bandwidth_bytes_per_s = 0;  // theoretical peak; 0: unknown
  uint64_t l2_bytes = 0;                      // 0: unknown
  StringId driver_version;
  std::optional<uint32_t> power_limit_milliwatts;
  bool mig = false;  // not a whole GPU but a MIG instance, with a UUID of its own
};

// How a context's process shares the device with others.
enum class ContextSharing : uint8_t {
  unknown,
  time_sliced,  // takes turns with contexts of other processes
  mps,          // a client of the Multi-Process Service: its kernels overlap those of other clients
};
// One CUDA context. Which contexts may overlap: questions/contexts.h.
struct Context {
  ProcessId process;
  DeviceId device;
  uint32_t context_id = 0;
  ContextSharing sharing = ContextSharing::unknown;
  bool green = false;              // a green context: part of the device's SMs
  uint32_t parent_context_id = 0;  // of a green context; 0: none, or unknown
  std::optional<uint32_t> multiprocessors;  // that it may use, where it may not use all; empty: all, or unknown
  std::optional<double> mps_thread_percent;  // CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of an MPS client
};

// One kernel name with one launch configuration.
struct KernelShape {
  ShapeId id;
  StringId name;  // mangled
  std::array<uint32_t, 3> grid{}, block{}, cluster{};  // cluster 0: none; grid 0: unknown (some imported files)
  uint32_t registers_per_thread = 0;
  uint32_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  uint32_t shared_executed_bytes = 0;  // per SM, as the driver configured it; 0: unknown
  uint32_t local_bytes_per_thread = 0;
  uint32_t max_active_clusters = 0;  // 0: unknown
  uint64_t code_hash = 0;            // 0: unknown
};

enum class ApiKind : uint8_t {
  launch_kernel,
  launch_cooperative,
  launch_graph,
  launch_host_function,
  synchronize_stream,
  synchronize_context,
  synchronize_event,
  synchronize_copy,
  copy_async,
  wait_for_queue,  // not a call: the part of a launch, of the same correlation id, that waited for room in the queue
};

// One driver-API call on a host thread: a launch or a synchronisation. In the device tier from CUPTI, in the host tier
// from uprobes, never both as data.
struct ApiCall {
  ProcessId process;
  int32_t thread_id = 0;  // initial pid namespace
  ApiKind kind = ApiKind::launch_kernel;
  Source source = Source::cupti;
  uint32_t correlation_id = 0;  // 0: unknown (host tier)
  int64_t start_ns = 0, end_ns = 0;
  int32_t result = 0;
  uint64_t stream_handle = 0;  // host tier; 0: default stream or unknown
  bool captured = false;       // under stream capture: executes nothing
};

struct Execution {
  ProcessId process;
  DeviceId device;
  ShapeId shape;
  uint32_t context_id = 0, stream_id = 0;
  uint32_t correlation_id = 0;
  uint32_t graph_id = 0;
  uint64_t graph_node_id = 0;  // 0: not from a graph
  int64_t start_ns = 0, end_ns = 0;
};

enum class TransferKind : uint8_t { host_to_device, device_to_host, device_to_device, peer, memset, other };
struct Transfer {
  ProcessId process;
  DeviceId device;
  TransferKind kind = TransferKind::other;
  uint32_t context_id = 0, stream_id = 0;
  uint32_t correlation_id = 0;
  uint32_t graph_id = 0;
  uint64_t graph_node_id = 0;
  uint64_t bytes = 0;
  int64_t start_ns = 0, end_ns = 0;
};

struct Range {  // NVTX
  ProcessId process;
  int32_t thread_id = 0;
  StringId name, domain;
  int64_t start_ns = 0, end_ns = 0;
};

// Why a thread was off the CPU.
enum class OffCpuReason : uint8_t {
  preempted,     // was runnable, and somebody else took the CPU
  throttled,     // was runnable, and nobody took the CPU: its cgroup's quota was used up
  futex,         // blocked in a futex: a lock or a condition variable
  poll,          // blocked in poll, select, epoll
  io,            // blocked in read, write, ioctl, send, receive, or an uninterruptible wait
  sleep,         // asked to sleep
  other,         // blocked elsewhere
  unexplained,   // off the CPU, and the file does not say why (some imported files)
};
// [start, wake) blocked, [wake, end) waiting for a CPU. For preempted and throttled wake == start; where nobody saw the
// wake-up (unexplained) wake == end.
struct OffCpu {
  ProcessId process;
  int32_t thread_id = 0;
  OffCpuReason reason = OffCpuReason::other;
  int32_t system_call = -1;  // −1: none or unknown
  int64_t start_ns = 0, wake_ns = 0, end_ns = 0;
  uint32_t cpu = 0;
  int32_t taker_thread_id = 0;  // who had the CPU while this thread waited for one, longest in one go; 0: nobody
  StringId taker_name;
  int32_t waker_thread_id = 0;
};

enum class CollectiveKind : uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  send,
  receive,
  gather,
  scatter,
  group_start,
  group_end,
};
struct CollectiveCall {
  ProcessId process;
  int32_t thread_id = 0;
  CollectiveKind kind = CollectiveKind::all_reduce;
  uint64_t communicator = 0;  // address in the process; joins Communicator
  uint64_t stream_handle = 0;
  uint64_t count = 0;  // elements
  int32_t data_type = -1;
  int32_t peer_or_root = -1;
  int32_t result = 0;
  int64_t start_ns = 0, end_ns = 0;
};
struct Communicator {
  ProcessId process;
  uint64_t communicator = 0;
  uint64_t parent = 0;  // of a split; else 0
  int32_t rank = -1, ranks = 0;
  int32_t color = 0;
  StringId unique_id;  // hexadecimal ncclUniqueId, shared by all ranks; "" where unknown
  int64_t created_ns = 0;
};

// One reading of the hardware counters over [start, end) of one device. Sums over all units of the device; divide by
// cycles for a mean. Metric names per field: docs/capture-format.md.
struct Sample {
  DeviceId device;
  int64_t start_ns = 0, end_ns = 0;
  std::optional<double> cycles_elapsed;  // of one SM: gpc__cycles_elapsed.max
  std::optional<double> sm_active_cycles;  // sum over SMs
  std::optional<double> warp_cycles;  // resident warps × cycles, sum over SMs
  std::optional<double> warps_max, warps_min;  // of the fullest and emptiest SM, × cycles
  std::optional<double> register_cycles;  // allocated registers × cycles
  std::optional<double> shared_byte_cycles;  // allocated shared memory × cycles
  std::optional<double> warps_launched, blocks_completed;
  std::optional<double> dram_read_bytes, dram_write_bytes;
  std::optional<double> instructions, tensor_cycles;
  std::optional<double> l2_sectors;
  std::optional<double> context_switch_cycles;
};

// NVML, a few times per second.
struct DeviceReading {
  DeviceId device;
  int64_t time_ns = 0;
  std::optional<uint32_t> power_milliwatts, sm_clock_mhz, memory_clock_mhz, temperature_celsius;
  std::optional<uint64_t> throttle_reasons;  // nvmlClocksEventReasons bits
  std::optional<double> gpm_sm_occupancy_percent, gpm_dram_percent, gpm_sm_active_percent;  // over ≥ 100 ms
};

enum class LossKind : uint8_t {
  cupti_dropped,
  bad_time,
  batch_gap,
  batch_slot,
  table_full,
  no_reader,
  unknown_record,
  buffer_allocation,
  ring_full,
  copy_failed,
  unmatched,
  map_full,
  before_attach,
  counter_overflow,
  counter_gap,
  sampler_died,
  store_failed,
  unjoined,
  ended_without_exit_handlers,  // processes, not records: how much each took with it cannot be known
};
struct Loss {
  Source source = Source::recorder;
  LossKind kind = LossKind::ring_full;
  std::optional<ProcessId> process;
  uint64_t count = 0;
  std::optional<int64_t> first_ns, last_ns;
};

// monotonic = raw + offset_ns + drift_ns_per_s × (raw − from_ns) ÷ 1e9, for raw ≥ from_ns of that source (and device).
struct ClockMapping {
  ClockSource source = ClockSource::host;
  std::optional<DeviceId> device;
  int64_t from_ns = 0;  // raw time from which it holds
  int64_t offset_ns = 0;
  double drift_ns_per_s = 0;
  std::optional<int64_t> residual_ns;  // median absolute; empty: not verified
  std::optional<int64_t> residual_p95_ns;  // 95th percentile of the same distances
  // By how much kernels begin after, and end before, what their executions say, in the time that this mapping gives.
  // Empty: not known.
  std::optional<int64_t> start_bias_ns, end_bias_ns;
};

// One fact about the capture as a whole: see docs/capture-format.md for the keys.
struct Meta {
  std::string key, value;
};

}  // namespace kvet
