// The schema, declared once. Each table is one `describe` function that names its columns in order, with the member
// that they hold and a sentence; visitors turn it into CREATE TABLE, docs/capture-format.md, the writer's binding, the
// reader, and the range checks of both (what the reader would refuse, the writer drops and counts).
//
// A visitor has these calls (see schema.cpp for the plainest one):
//   reference(name, id, table, prose)       id of a row of another table
//   integer(name, field, prose)             the whole range of the field's type, uint64_t up to 2^63 − 1; optional: NULL
//   bits(name, uint64, prose)               64 bits with no order; stored as the signed integer with the same bits
//   real(name, field, prose)                finite, not negative; optional: NULL
//   signed_real(name, field, prose)         finite
//   boolean, text, enumeration, identifier(name, bytes, prose)
//   time(name, field, prose)                a point in time of the table's clock
//   interval(start, end, prose)             two columns: start_ns, duration_ns
//   within(name, start, end, point, prose)  a point inside the interval, stored as its distance from the start
//   triple(name, array, prose)              three columns: name_x, name_y, name_z
//
// Durations are stored instead of ends since they take 2 or 3 bytes where a time takes 8.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/events.h"

namespace kvet::store {

// "kvet" in ASCII, at offset 68 of the file (SQLite's application_id).
inline constexpr int32_t application_id = 0x6b766574;
// SQLite's user_version. Grows with every change of the schema.
inline constexpr int32_t format_version = 2;

// What may be read: 126 years in nanoseconds. Sums of two never overflow.
inline constexpr int64_t time_limit_ns = 4'000'000'000'000'000'000;
// A drift of 1 ms per second is 1000 times what crystals do; beyond it, a mapping is a fault.
inline constexpr double drift_limit_ns_per_s = 1e6;
inline constexpr int64_t text_limit_bytes = 1 << 20;
inline constexpr uint32_t id_limit = 1u << 24;

enum class TimeOf : uint8_t { nothing, host, device, counters, call };
// Which clock the times of a table are on; docs/capture-format.md says how to map them.

struct TableText {
  std::string_view name;
  std::string_view prose;
  TimeOf time = TimeOf::nothing;
  std::string_view key;  // the column that is the primary key, if any
};

struct StringRow {
  uint32_t id = 0;
  std::string value;
};

template <class Row>
inline constexpr TableText table_text{};

template <class R, class T>
concept Is = std::same_as<std::remove_const_t<R>, T>;

template <>
inline constexpr TableText table_text<Meta>{"meta", "Facts about the capture as a whole.", TimeOf::nothing, "key"};
template <class V, Is<Meta> R>
void describe(V& v, R& row) {
  v.text("key", row.key, "The name of the fact: see \"Facts\" below.");
  v.text("value", row.value, "Its value, as text.");
}

template <>
inline constexpr TableText table_text<StringRow>{"string", "Every text of the capture, once. Row 0 is the empty text.",
                                                 TimeOf::nothing, "id"};
template <class V, Is<StringRow> R>
void describe(V& v, R& row) {
  v.integer("id", row.id, "Counts from 0 without a gap.");
  v.text("value", row.value, "The text: any bytes, most often UTF-8. It comes from the target: treat it as hostile.");
}

template <>
inline constexpr TableText table_text<Process>{"process", "One process of the target tree.", TimeOf::host, "id"};
template <class V, Is<Process> R>
void describe(V& v, R& row) {
  v.integer("id", row.id.value, "Counts from 0 without a gap. Not the pid: pids are used again.");
  v.integer("pid", row.pid, "Thread group id in the initial pid namespace.");
  v.integer("parent_pid", row.parent_pid, "The parent's.");
  v.integer("namespace_pid", row.namespace_pid, "The pid as the process itself sees it; 0: unknown.");
  v.reference("name_id", row.name, "string", "Its name (comm).");
  v.reference("command_line_id", row.command_line, "string", "Its command line.");
  v.time("start_ns", row.start_ns, "When it was first seen.");
  v.time("end_ns", row.end_ns, "When it exited; NULL: it had not.");
  v.integer("exit_code", row.exit_code, "As wait(2) gives it; NULL: it had not exited.");
  v.integer("inject_status", row.inject_status,
            "What the library in it achieved: enum kvet_inject_status of src/abi/records.h.");
}

template <>
inline constexpr TableText table_text<Device>{"device", "One GPU.", TimeOf::nothing, "id"};
template <class V, Is<Device> R>
void describe(V& v, R& row) {
  v.integer("id", row.id.value, "Counts from 0 without a gap. Not the ordinal: ordinals differ between processes.");
  v.identifier("uuid", row.uuid, "The driver's UUID, 16 bytes.");
  v.reference("name_id", row.name, "string", "Its name.");
  v.integer("compute_major", row.compute_major, "Compute capability, first number.");
  v.integer("compute_minor", row.compute_minor, "Compute capability, second number.");
  v.integer("multiprocessors", row.multiprocessors, "How many SMs it has.");
  v.integer("max_warps_per_multiprocessor", row.max_warps_per_multiprocessor, "Warp slots of an SM.");
  v.integer("max_blocks_per_multiprocessor", row.max_blocks_per_multiprocessor, "Block slots of an SM.");
  v.integer("max_registers_per_multiprocessor", row.max_registers_per_multiprocessor, "32-bit registers of an SM.");
  v.integer("max_shared_bytes_per_multiprocessor", row.max_shared_bytes_per_multiprocessor, "Shared memory of an SM.");
  v.integer("max_shared_bytes_per_block", row.max_shared_bytes_per_block, "Shared memory that a block may have.");
  v.integer("memory_bytes", row.memory_bytes, "Device memory.");
  v.integer("memory_bandwidth_bytes_per_s", row.memory_bandwidth_bytes_per_s, "Theoretical peak; 0: unknown.");
  v.integer("l2_bytes", row.l2_bytes, "L2 cache; 0: unknown.");
  v.reference("driver_version_id", row.driver_version, "string", "Version of the driver.");
  v.integer("power_limit_milliwatts", row.power_limit_milliwatts, "Enforced power limit; NULL: unknown.");
  v.boolean("mig", row.mig, "1: not a whole GPU but a MIG instance, and the UUID is the instance's.");
}

template <>
inline constexpr TableText table_text<Context>{"context", "One CUDA context of a process.", TimeOf::nothing};
template <class V, Is<Context> R>
void describe(V& v, R& row) {
  v.reference("process_id", row.process, "process", "Whose it is.");
  v.reference("device_id", row.device, "device", "On which device.");
  v.integer("context_id", row.context_id, "As `execution` and `transfer` of the same process have it.");
  v.enumeration("sharing", row.sharing, "How its process shares the device with others.");
  v.boolean("green", row.green, "1: a green context, which may use part of the SMs.");
  v.integer("parent_context_id", row.parent_context_id,
            "The context that a green one was made from; 0: none, or unknown.");
  v.integer("multiprocessors", row.multiprocessors, "SMs that a green context may use; NULL: all, or unknown.");
  v.real("mps_thread_percent", row.mps_thread_percent,
         "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of an MPS client; NULL: not set.");
}

template <>
inline constexpr TableText table_text<KernelShape>{"kernel_shape", "One kernel name with one launch configuration.",
                                                   TimeOf::nothing, "id"};
template <class V, Is<KernelShape> R>
void describe(V& v, R& row) {
  v.integer("id", row.id.value, "Counts from 0 without a gap.");
  v.reference("name_id", row.name, "string", "The kernel's mangled name.");
  v.triple("grid", row.grid, "Blocks in the grid; 0: unknown.");
  v.triple("block", row.block, "Threads in a block.");
  v.triple("cluster", row.cluster, "Blocks in a cluster; 0: none.");
  v.integer("registers_per_thread", row.registers_per_thread, "As compiled.");
  v.integer("static_shared_bytes", row.static_shared_bytes, "Shared memory per block, static.");
  v.integer("dynamic_shared_bytes", row.dynamic_shared_bytes, "Shared memory per block, given at launch.");
  v.integer("shared_executed_bytes", row.shared_executed_bytes,
            "Carve-out of the SM as the driver configured it; 0: unknown.");
  v.integer("local_bytes_per_thread", row.local_bytes_per_thread, "Local memory.");
  v.integer("max_active_clusters", row.max_active_clusters, "How many clusters fit on the device; 0: unknown.");
  v.bits("code_hash", row.code_hash, "Hash of the machine code; 0: unknown.");
}

template <>
inline constexpr TableText table_text<ApiCall>{
    "api_call", "One driver-API call on a host thread: a launch or a synchronisation.", TimeOf::call};
template <class V, Is<ApiCall> R>
void describe(V& v, R& row) {
  v.reference("process_id", row.process, "process", "Who called.");
  v.integer("thread_id", row.thread_id, "The calling thread, in the initial pid namespace.");
  v.enumeration("kind", row.kind, "What was called.");
  v.enumeration("source", row.source, "Who saw it.");
  v.integer("correlation_id", row.correlation_id, "Joins `execution` and `transfer` of the same process; 0: unknown.");
  v.interval(row.start_ns, row.end_ns, "The call.");
  v.integer("result", row.result, "CUresult; 0: success.");
  v.bits("stream_handle", row.stream_handle, "CUstream, in the host tier; 0: default stream or unknown.");
  v.boolean("captured", row.captured, "1: under stream capture, so it executes nothing.");
}

template <>
inline constexpr TableText table_text<Execution>{"execution", "One run of one kernel on a device.", TimeOf::device};
template <class V, Is<Execution> R>
void describe(V& v, R& row) {
  v.reference("process_id", row.process, "process", "Whose it is.");
  v.reference("device_id", row.device, "device", "Where it ran.");
  v.reference("shape_id", row.shape, "kernel_shape", "What ran.");
  v.integer("context_id", row.context_id, "CUDA context, counted per process.");
  v.integer("stream_id", row.stream_id, "CUDA stream, counted per context.");
  v.integer("correlation_id", row.correlation_id,
            "Joins `api_call` of the same process. All nodes of a graph launch share one.");
  v.integer("graph_id", row.graph_id, "Executable graph; 0: not from a graph.");
  v.bits("graph_node_id", row.graph_node_id, "Node in the graph; 0: not from a graph.");
  v.interval(row.start_ns, row.end_ns, "The run on the device.");
}

template <>
inline constexpr TableText table_text<Transfer>{"transfer", "One copy or memset on a device.", TimeOf::device};
template <class V, Is<Transfer> R>
void describe(V& v, R& row) {
  v.reference("process_id", row.process, "process", "Whose it is.");
  v.reference("device_id", row.device, "device", "Where it ran.");
  v.enumeration("kind", row.kind, "From where to where.");
  v.integer("context_id", row.context_id, "CUDA context, counted per process.");
  v.integer("stream_id", row.stream_id, "CUDA stream, counted per context.");
  v.integer("correlation_id", row.correlation_id, "Joins `api_call` of the same process.");
  v.integer("graph_id", row.graph_id, "Executable graph; 0: not from a graph.");
  v.bits("graph_node_id", row.graph_node_id, "Node in the graph; 0: not from a graph.");
  v.integer("size_bytes", row.bytes, "How much was moved or set.");
  v.interval(row.start_ns, row.end_ns, "The transfer on the device.");
}

template <>
inline constexpr TableText table_text<Range>{"nvtx_range", "One NVTX range.", TimeOf::device};
template <class V, Is<Range> R>
void describe(V& v, R& row) {
  v.reference("process_id", row.process, "process", "Whose it is.");
  v.integer("thread_id", row.thread_id, "The thread that opened it, in the initial pid namespace; 0: unknown.");
  v.reference("name_id", row.name, "string", "Its name.");
  v.reference("domain_id", row.domain, "string", "Its domain; the empty text: the default domain.");
  v.interval(row.start_ns, row.end_ns, "From opening to closing.");
}

template <>
inline constexpr TableText table_text<OffCpu>{
    "off_cpu", "One interval in which a thread of the target was not on a CPU.", TimeOf::host};
template <class V, Is<OffCpu> R>
void describe(V& v, R& row) {
  v.reference("process_id", row.process, "process", "Whose thread it is.");
  v.integer("thread_id", row.thread_id, "The thread, in the initial pid namespace.");
  v.enumeration("reason", row.reason, "Why it was off the CPU.");
  v.integer("system_call", row.system_call, "Number of the system call that it was in; -1: none or unknown.");
  v.interval(row.start_ns, row.end_ns, "From leaving a CPU to running again.");
  v.within("blocked_ns", row.start_ns, row.end_ns, row.wake_ns,
           "The first part of the duration: until it was woken. In the rest it waited for a CPU. 0 where it was "
           "preempted or throttled.");
  v.integer("cpu", row.cpu, "The CPU that it left.");
  v.integer("taker_thread_id", row.taker_thread_id,
            "Who had the CPU while it waited for one: who ran longest in one go; 0: nobody.");
  v.reference("taker_name_id", row.taker_name, "string", "That thread's name (comm).");
  v.integer("waker_thread_id", row.waker_thread_id, "Who woke it; 0: an interrupt, or unknown.");
}

template <>
inline constexpr TableText table_text<CollectiveCall>{"collective_call", "One host call of a NCCL operation.",
                                                      TimeOf::host};
template <class V, Is<CollectiveCall> R>
void describe(V& v, R& row) {
  v.reference("process_id", row.process, "process", "Who called.");
  v.integer("thread_id", row.thread_id, "The calling thread, in the initial pid namespace.");
  v.enumeration("kind", row.kind, "The operation.");
  v.bits("communicator", row.communicator, "ncclComm_t; joins `communicator` of the same process.");
  v.bits("stream_handle", row.stream_handle, "CUstream.");
  v.integer("element_count", row.count, "Elements, as the call gives them.");
  v.integer("data_type", row.data_type, "ncclDataType_t; -1: unknown.");
  v.integer("peer_or_root", row.peer_or_root, "Rank of the peer or root; -1: none.");
  v.integer("result", row.result, "ncclResult_t; 0: success.");
  v.interval(row.start_ns, row.end_ns, "The call.");
}

template <>
inline constexpr TableText table_text<Communicator>{"communicator", "One NCCL communicator, as one rank sees it.",
                                                    TimeOf::host};
template <class V, Is<Communicator> R>
void describe(V& v, R& row) {
  v.reference("process_id", row.process, "process", "Whose it is.");
  v.bits("communicator", row.communicator, "ncclComm_t.");
  v.bits("parent", row.parent, "The communicator that it was split from; 0: none.");
  v.integer("rank", row.rank, "This rank; -1: unknown.");
  v.integer("ranks", row.ranks, "How many ranks; 0: unknown.");
  v.integer("color", row.color, "Of the split.");
  v.reference("unique_id_id", row.unique_id, "string",
              "ncclUniqueId in hexadecimal, the same for all ranks; the empty text: unknown.");
  v.time("created_ns", row.created_ns, "When the call that made it began.");
}

template <>
inline constexpr TableText table_text<Sample>{
    "sample",
    "One reading of the hardware counters of one device over one interval. Sums over all units of the device.",
    TimeOf::counters};
template <class V, Is<Sample> R>
void describe(V& v, R& row) {
  v.reference("device_id", row.device, "device", "Which device.");
  v.interval(row.start_ns, row.end_ns, "The interval.");
  v.real("cycles_elapsed", row.cycles_elapsed, "SM clock cycles of the interval (gpc__cycles_elapsed.max).");
  v.real("sm_active_cycles", row.sm_active_cycles,
         "Cycles with at least one resident warp, sum over SMs (sm__cycles_active.sum).");
  v.real("warp_cycles", row.warp_cycles, "Resident warps × cycles, sum over SMs (sm__warps_active.sum).");
  v.real("warps_max", row.warps_max, "The same of the fullest SM (sm__warps_active.max).");
  v.real("warps_min", row.warps_min, "The same of the emptiest SM (sm__warps_active.min).");
  v.real("register_cycles", row.register_cycles,
         "Allocated registers × cycles (tpc__sm_rf_registers_allocated_shader_cs_realtime.sum).");
  v.real("shared_byte_cycles", row.shared_byte_cycles,
         "Allocated shared memory × cycles (tpc__l1tex_mem_shared_data_compute_bytes_allocated_realtime.sum).");
  v.real("warps_launched", row.warps_launched, "Warps that began (tpc__warps_launched_shader_cs.sum).");
  v.real("blocks_completed", row.blocks_completed, "Blocks that ended (gr__ctas_completed.sum).");
  v.real("dram_read_bytes", row.dram_read_bytes, "Read from device memory (dram__bytes_read.sum).");
  v.real("dram_write_bytes", row.dram_write_bytes, "Written to device memory (dram__bytes_write.sum).");
  v.real("instructions", row.instructions, "Warp instructions (sm__inst_executed_realtime.sum).");
  v.real("tensor_cycles", row.tensor_cycles,
         "Cycles with the tensor pipe active (sm__pipe_tensor_cycles_active_realtime.sum).");
  v.real("l2_sectors", row.l2_sectors, "Sectors looked up in L2 (lts__t_sectors.sum).");
  v.real("context_switch_cycles", row.context_switch_cycles,
         "Cycles spent switching between contexts (gpu__gr_cycles_active_cmd_ctxsw).");
}

template <>
inline constexpr TableText table_text<DeviceReading>{"device_reading", "One NVML reading of one device.", TimeOf::host};
template <class V, Is<DeviceReading> R>
void describe(V& v, R& row) {
  v.reference("device_id", row.device, "device", "Which device.");
  v.time("time_ns", row.time_ns, "When it was read.");
  v.integer("power_milliwatts", row.power_milliwatts, "Power draw.");
  v.integer("sm_clock_mhz", row.sm_clock_mhz, "SM clock.");
  v.integer("memory_clock_mhz", row.memory_clock_mhz, "Memory clock.");
  v.integer("temperature_celsius", row.temperature_celsius, "GPU temperature.");
  v.integer("throttle_reasons", row.throttle_reasons, "nvmlClocksEventReasons bits.");
  v.real("gpm_sm_occupancy_percent", row.gpm_sm_occupancy_percent, "Over at least 100 ms.");
  v.real("gpm_dram_percent", row.gpm_dram_percent, "Over at least 100 ms.");
  v.real("gpm_sm_active_percent", row.gpm_sm_active_percent, "Over at least 100 ms.");
}

template <>
inline constexpr TableText table_text<Loss>{"loss", "Something that was not recorded. Counts of several rows add up.",
                                            TimeOf::host};
template <class V, Is<Loss> R>
void describe(V& v, R& row) {
  v.enumeration("source", row.source, "Where it was lost.");
  v.enumeration("kind", row.kind, "How.");
  v.reference("process_id", row.process, "process", "Whose records; NULL: nobody's or unknown.");
  v.integer("lost_count", row.count, "How many records.");
  v.time("first_ns", row.first_ns, "Since when; NULL: unknown.");
  v.time("last_ns", row.last_ns, "Until when; NULL: unknown.");
}

template <>
inline constexpr TableText table_text<ClockMapping>{
    "clock_mapping",
    "How to get from the raw times of a source to CLOCK_MONOTONIC: raw + offset_ns + drift_ns_per_s × (raw − from_ns) "
    "÷ 1e9, "
    "with the row of the largest from_ns ≤ raw, or the first row for earlier times. A source without a row is on "
    "CLOCK_MONOTONIC already.",
    TimeOf::nothing};
template <class V, Is<ClockMapping> R>
void describe(V& v, R& row) {
  v.enumeration("source", row.source, "Which clock.");
  v.reference("device_id", row.device, "device", "Of which device; NULL: of all.");
  v.time("from_ns", row.from_ns, "Raw time from which the row holds.");
  v.time("offset_ns", row.offset_ns, "What to add.");
  v.signed_real("drift_ns_per_s", row.drift_ns_per_s, "What to add per second since from_ns.");
  v.time("residual_ns", row.residual_ns, "Median absolute error after mapping; NULL: not verified.");
  v.time("residual_p95_ns", row.residual_p95_ns, "95th percentile of the same errors; NULL: not verified.");
  v.time("start_bias_ns", row.start_bias_ns,
         "How long after the start of its execution a kernel's first warps are seen in samples; NULL: not known.");
  v.time("end_bias_ns", row.end_bias_ns,
         "How long before the end of its execution a kernel's last warps are seen in samples; NULL: not known.");
}

// Calls action.template operator()<Row>() for every table, in the order in which they are made and read.
template <class Action>
constexpr void for_each_table(Action&& action) {
  action.template operator()<Meta>();
  action.template operator()<StringRow>();
  action.template operator()<Process>();
  action.template operator()<Device>();
  action.template operator()<KernelShape>();
  action.template operator()<Context>();
  action.template operator()<ApiCall>();
  action.template operator()<Execution>();
  action.template operator()<Transfer>();
  action.template operator()<Range>();
  action.template operator()<OffCpu>();
  action.template operator()<CollectiveCall>();
  action.template operator()<Communicator>();
  action.template operator()<Sample>();
  action.template operator()<DeviceReading>();
  action.template operator()<Loss>();
  action.template operator()<ClockMapping>();
}

// What the visitors of schema.cpp make of it.
struct Column {
  std::string name;
  std::string type;  // INTEGER, REAL, TEXT, BLOB
  bool nullable = false;
  std::string references;  // table, or "" (for the reader of the documentation; not enforced by SQLite)
  std::string enumeration;  // name in table `enumerator`, or ""
  std::string prose;
};
struct Table {
  TableText text;
  std::vector<Column> columns;
};
[[nodiscard]] std::vector<Table> tables();
[[nodiscard]] std::string create_statement(const Table& table);
// The table `enumerator` is for people: the reader knows the names.
[[nodiscard]] std::string create_enumerator_statement();
struct Enumerator {
  std::string enumeration;
  int value = 0;
  std::string name;
};
[[nodiscard]] std::vector<Enumerator> all_enumerators();
// Made when the recording is finished.
struct Index {
  std::string name, statement;
};
[[nodiscard]] std::vector<Index> indices();

}  // namespace kvet::store
