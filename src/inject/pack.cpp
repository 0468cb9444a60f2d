#include "inject/pack.h"

#include <stdlib.h>
#include <string.h>

#include "abi/vendor/cupti_driver_callbacks.h"

namespace kvet::inject {
namespace {

template <class Record>
const Record& as(const kvet_cupti_activity& record) {
  return reinterpret_cast<const Record&>(record);
}

uint16_t narrow(uint32_t ordinal) { return ordinal > 0xffff ? 0xffff : static_cast<uint16_t>(ordinal); }
uint32_t not_negative(int32_t value) { return value < 0 ? 0 : static_cast<uint32_t>(value); }

uint16_t transfer_kind(uint8_t copy_kind) {
  switch (copy_kind) {
    case KVET_CUPTI_COPY_HTOD:
    case KVET_CUPTI_COPY_HTOA: return KVET_TRANSFER_HOST_TO_DEVICE;
    case KVET_CUPTI_COPY_DTOH:
    case KVET_CUPTI_COPY_ATOH: return KVET_TRANSFER_DEVICE_TO_HOST;
    case KVET_CUPTI_COPY_DTOD:
    case KVET_CUPTI_COPY_DTOA:
    case KVET_CUPTI_COPY_ATOD:
    case KVET_CUPTI_COPY_ATOA: return KVET_TRANSFER_DEVICE_TO_DEVICE;
    case KVET_CUPTI_COPY_PTOP: return KVET_TRANSFER_PEER;
    default: return KVET_TRANSFER_OTHER;
  }
}

// "12.5" is 1250. By hand, since strtod follows the target's locale. 0: not set, or no percentage.
uint32_t centipercent(const char* text) {
  uint32_t value = 0, digits_left = 2;
  bool fraction = false, any = false;
  for (; text != nullptr && *text != '\0'; ++text) {
    if (*text == '.' && !fraction) {
      fraction = true;
    } else if (*text < '0' || *text > '9' || value > 100'000) {
      return 0;
    } else if (!fraction || digits_left > 0) {
      value = value * 10 + static_cast<uint32_t>(*text - '0');
      digits_left -= fraction ? 1 : 0;
      any = true;
    }
  }
  for (; digits_left > 0; --digits_left) {
    value *= 10;
  }
  return any && value <= 10'000 ? value : 0;
}

}  // namespace

uint16_t api_kind(uint32_t callback_id) {
  constexpr uint32_t ids = 1024;  // 800 is the newest of ours
  struct Kinds {
    uint8_t of[ids];
  };
  static constexpr Kinds kinds = [] {
    Kinds table{};
#define KVET_KIND_OF_CALL(name, id, kind) table.of[id] = kind;
    KVET_CUPTI_DRIVER_CALLBACKS(KVET_KIND_OF_CALL)
#undef KVET_KIND_OF_CALL
    return table;
  }();
  return callback_id < ids ? kinds.of[callback_id] : 0;
}

void Packer::pack(const kvet_cupti_activity& record) {
  switch (record.kind) {
    case KVET_CUPTI_ACTIVITY_CONCURRENT_KERNEL:
    case KVET_CUPTI_ACTIVITY_KERNEL: return kernel(as<kvet_cupti_kernel>(record));
    case KVET_CUPTI_ACTIVITY_DRIVER: return api(as<kvet_cupti_api>(record));
    case KVET_CUPTI_ACTIVITY_MEMCPY: return copy(as<kvet_cupti_memcpy>(record));
    case KVET_CUPTI_ACTIVITY_MEMCPY2: return peer_copy(as<kvet_cupti_memcpy_peer>(record));
    case KVET_CUPTI_ACTIVITY_MEMSET: return set(as<kvet_cupti_memset>(record));
    case KVET_CUPTI_ACTIVITY_DEVICE: return device(as<kvet_cupti_device>(record));
    case KVET_CUPTI_ACTIVITY_CONTEXT: return context(as<kvet_cupti_context>(record));
    case KVET_CUPTI_ACTIVITY_MARKER: return marker(as<kvet_cupti_marker>(record));
    case KVET_CUPTI_ACTIVITY_OVERHEAD: return overhead(as<kvet_cupti_overhead>(record));
    case KVET_CUPTI_ACTIVITY_DEVICE_ATTRIBUTE:  // comes with DEVICE
    case KVET_CUPTI_ACTIVITY_MARKER_DATA:       // comes with MARKER
      return;
    default: losses_.count(KVET_LOSS_UNKNOWN_RECORD, 1, now_ns_);
  }
}

bool Packer::plausible(uint64_t start_ns, uint64_t end_ns) {
  if (start_ns != 0 && start_ns <= end_ns && start_ns >= not_before_ns_ && end_ns <= now_ns_) {
    return true;
  }
  losses_.count(KVET_LOSS_BAD_TIME, 1, now_ns_);
  return false;
}

uint32_t Packer::text(const char* name) { return name == nullptr ? 0 : table_.string(name, strlen(name)); }

void Packer::kernel(const kvet_cupti_kernel& record) {
  if (!plausible(record.start, record.end)) {
    return;
  }
  const char* name = record.name == nullptr ? "" : record.name;
  kvet_entry_shape shape{};
  shape.registers_per_thread = record.registers_per_thread;
  for (int i = 0; i < 3; ++i) {
    shape.grid[i] = not_negative(record.grid[i]);
    shape.block[i] = not_negative(record.block[i]);
    shape.cluster[i] = record.cluster[i];
  }
  shape.static_shared_bytes = not_negative(record.static_shared_memory);
  shape.dynamic_shared_bytes = not_negative(record.dynamic_shared_memory);
  shape.shared_executed_bytes = record.shared_memory_executed;
  shape.local_bytes_per_thread = record.local_memory_per_thread;
  shape.launch_type = record.launch_type;
  shape.max_active_clusters = record.max_active_clusters;
  const uint32_t shape_index = shapes_.index_of(shape, name, table_, hashes_);

  kvet_record_execution& execution = emitter_.next().execution;
  execution.kind = KVET_RECORD_EXECUTION;
  execution.device = narrow(record.device_id);
  execution.correlation_id = record.correlation_id;
  execution.start_ns = record.start;
  execution.end_ns = record.end;
  execution.graph_node_id = record.graph_node_id;
  execution.graph_id = record.graph_id;
  execution.context_id = record.context_id;
  execution.stream_id = record.stream_id;
  execution.shape = shape_index;
  execution.queued_ns = record.queued;
  execution.channel_id = record.channel_id;
}

void Packer::api(const kvet_cupti_api& record) {
  const uint16_t kind = api_kind(record.callback_id);
  if (kind == 0) {  // a libcupti without per-function enabling delivers every driver call
    return;
  }
  if (!plausible(record.start, record.end)) {
    return;
  }
  kvet_record_api_call& call = emitter_.next().api_call;
  call.kind = KVET_RECORD_API_CALL;
  call.api = kind;
  call.correlation_id = record.correlation_id;
  call.start_ns = record.start;
  call.end_ns = record.end;
  call.thread_id = record.thread_id;
  call.result = static_cast<int32_t>(record.return_value);
  call.callback_id = record.callback_id;
}

// A launch found the queue to the device full, and waited. Other overheads are CUPTI's own and the compiler's.
void Packer::overhead(const kvet_cupti_overhead& record) {
  if (record.overhead_kind != KVET_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL ||
      table_.header()->cupti_version < KVET_CUPTI_VERSION_COMMAND_BUFFER_FULL) {
    return;
  }
  free(record.data);  // which channel it was: CUPTI leaves it to us
  if (!plausible(record.start, record.end)) {
    return;
  }
  kvet_record_api_call& call = emitter_.next().api_call;
  call.kind = KVET_RECORD_API_CALL;
  call.api = KVET_API_WAIT_FOR_QUEUE;
  call.correlation_id = record.correlation_id;
  call.start_ns = record.start;
  call.end_ns = record.end;
  call.thread_id = record.object_kind == KVET_CUPTI_OBJECT_THREAD ? record.object_id.thread_or_context : 0;
}

void Packer::copy(const kvet_cupti_memcpy& record) {
  if (!plausible(record.start, record.end)) {
    return;
  }
  kvet_record_transfer& transfer = emitter_.next().transfer;
  transfer.kind = KVET_RECORD_TRANSFER;
  transfer.device = narrow(record.device_id);
  transfer.correlation_id = record.correlation_id;
  transfer.start_ns = record.start;
  transfer.end_ns = record.end;
  transfer.bytes = record.bytes;
  transfer.graph_node_id = record.graph_node_id;
  transfer.graph_id = record.graph_id;
  transfer.context_id = record.context_id;
  transfer.stream_id = record.stream_id;
  transfer.transfer = transfer_kind(record.copy_kind);
  transfer.peer_device = transfer.device;
}

void Packer::peer_copy(const kvet_cupti_memcpy_peer& record) {
  if (!plausible(record.start, record.end)) {
    return;
  }
  kvet_record_transfer& transfer = emitter_.next().transfer;
  transfer.kind = KVET_RECORD_TRANSFER;
  transfer.device = narrow(record.device_id);
  transfer.correlation_id = record.correlation_id;
  transfer.start_ns = record.start;
  transfer.end_ns = record.end;
  transfer.bytes = record.bytes;
  transfer.graph_node_id = record.graph_node_id;
  transfer.graph_id = record.graph_id;
  transfer.context_id = record.context_id;
  transfer.stream_id = record.stream_id;
  transfer.transfer = KVET_TRANSFER_PEER;
  transfer.peer_device =
      narrow(record.device_id == record.destination_device_id ? record.source_device_id : record.destination_device_id);
}

void Packer::set(const kvet_cupti_memset& record) {
  if (!plausible(record.start, record.end)) {
    return;
  }
  kvet_record_transfer& transfer = emitter_.next().transfer;
  transfer.kind = KVET_RECORD_TRANSFER;
  transfer.device = narrow(record.device_id);
  transfer.correlation_id = record.correlation_id;
  transfer.start_ns = record.start;
  transfer.end_ns = record.end;
  transfer.bytes = record.bytes;
  transfer.graph_node_id = record.graph_node_id;
  transfer.graph_id = record.graph_id;
  transfer.context_id = record.context_id;
  transfer.stream_id = record.stream_id;
  transfer.transfer = KVET_TRANSFER_MEMSET;
  transfer.peer_device = transfer.device;
}

void Packer::device(const kvet_cupti_device& record) {
  kvet_entry_device entry{};
  entry.ordinal = record.id;
  entry.name = text(record.name);
  memcpy(entry.uuid, record.is_mig_enabled != 0 ? record.mig_uuid.bytes : record.uuid.bytes, sizeof(entry.uuid));
  entry.compute_major = record.compute_capability_major;
  entry.compute_minor = record.compute_capability_minor;
  entry.multiprocessors = record.multiprocessors;
  entry.core_clock_khz = record.core_clock_rate;
  entry.memory_bandwidth_kb_per_s = record.global_memory_bandwidth;
  entry.memory_bytes = record.global_memory_size;
  entry.max_warps_per_multiprocessor = record.max_warps_per_multiprocessor;
  entry.max_blocks_per_multiprocessor = record.max_blocks_per_multiprocessor;
  entry.max_registers_per_multiprocessor = record.max_registers_per_multiprocessor;
  entry.max_registers_per_block = record.max_registers_per_block;
  entry.max_shared_bytes_per_multiprocessor = record.max_shared_memory_per_multiprocessor;
  entry.max_shared_bytes_per_block = record.max_shared_memory_per_block;
  entry.threads_per_warp = record.threads_per_warp;
  entry.l2_bytes = record.l2_cache_size;
  entry.mig = record.is_mig_enabled != 0 ? 1 : 0;
  const uint64_t said = hash_bytes(&entry, sizeof(entry), 3) | 1;
  if (record.id < remembered_devices) {
    if (devices_[record.id] == said) {
      return;
    }
    devices_[record.id] = said;
  }
  table_.append(&entry, KVET_ENTRY_DEVICE, sizeof(entry));
}

void Packer::context(const kvet_cupti_context& record) {
  kvet_entry_context entry{};
  entry.context_id = record.context_id;
  entry.device_ordinal = record.device_id;
  entry.null_stream_id = record.null_stream_id;
  switch (record.compute_api_kind) {
    case KVET_CUPTI_COMPUTE_API_CUDA: entry.sharing = KVET_CONTEXT_TIME_SLICED; break;
    case KVET_CUPTI_COMPUTE_API_CUDA_MPS:
      entry.sharing = KVET_CONTEXT_MPS;
      entry.thread_centipercent = centipercent(getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"));
      break;
    default: break;
  }
  const uint32_t version = table_.header()->cupti_version;
  if (version >= KVET_CUPTI_VERSION_GREEN_CONTEXT) {  // before, the record is shorter
    const auto& more = reinterpret_cast<const kvet_cupti_context2&>(record);
    entry.parent_context_id = more.parent_context_id;
    entry.green = more.is_green_context != 0 ? 1 : 0;
    if (entry.green != 0 && version >= KVET_CUPTI_VERSION_GREEN_MULTIPROCESSORS) {
      entry.multiprocessors = more.multiprocessors;
    }
  }
  table_.append(&entry, KVET_ENTRY_CONTEXT, sizeof(entry));
}

void Packer::marker(const kvet_cupti_marker& record) {
  const bool is_start = (record.flags & KVET_CUPTI_MARKER_START) != 0;
  const bool is_end = (record.flags & KVET_CUPTI_MARKER_END) != 0;
  if (is_start == is_end) {  // a mark without duration, or a synchronisation flag: not a range
    return;
  }
  OpenRange mine{};
  mine.id = record.id;
  mine.time_ns = record.timestamp;
  mine.is_end = is_end;
  mine.process_wide = record.object_kind == KVET_CUPTI_OBJECT_PROCESS;
  mine.thread_id = record.object_kind == KVET_CUPTI_OBJECT_THREAD ? record.object_id.thread_or_context : 0;
  if (is_start) {
    mine.name = text(record.name);
    mine.domain = record.domain == nullptr || *record.domain == '\0' ? 0 : text(record.domain);
  }
  OpenRange other{};
  if (!ranges_.take(record.id, !is_end, &other)) {
    if (!ranges_.keep(mine)) {
      losses_.count(KVET_LOSS_BATCH_SLOT, 1, now_ns_);
    }
    return;
  }
  const OpenRange& start = is_end ? other : mine;
  const OpenRange& end = is_end ? mine : other;
  if (!plausible(start.time_ns, end.time_ns)) {
    return;
  }
  kvet_record_range& range = emitter_.next().range;
  range.kind = KVET_RECORD_RANGE;
  range.flags = start.process_wide || start.thread_id != end.thread_id ? 1 : 0;
  range.name = start.name;
  range.domain = start.domain;
  range.start_ns = start.time_ns;
  range.end_ns = end.time_ns;
  range.thread_id = start.thread_id;
}

}  // namespace kvet::inject
