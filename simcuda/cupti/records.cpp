// What the driver stand-in tells, as CUPTI's records.
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "cupti/cupti.h"
#include "cupti/layouts.h"
#include "cupti/mutant.h"
#include "device/limits.h"
#include "device/shared_world.h"

namespace simcuda::cupti {
namespace {

template <class Layout>
void queue(const Layout& layout) {
  static_assert(sizeof(Layout) <= sizeof(Record::bytes));
  Record record;
  record.size = sizeof(Layout);
  std::memcpy(record.bytes, &layout, sizeof(Layout));
  push(record);
}

uint64_t stamp(int64_t monotonic) { return static_cast<uint64_t>(monotonic + options().clock_offset_ns); }

uint32_t thread_id(const simcuda_call& call) {
  return options().thread_ids == ThreadIds::system ? call.thread_id : static_cast<uint32_t>(pthread_self());
}

void on_call(void*, const simcuda_call* call) {
  bool wanted = options().every_driver_call || (call->callback_id < std::size(options().driver_calls) &&
                                                options().driver_calls[call->callback_id] != 0);
  if (!wanted || mutant_drops_call(*call)) {
    return;
  }
  kvet_cupti_api record{};
  record.kind = KVET_CUPTI_ACTIVITY_DRIVER;
  record.callback_id = call->callback_id;
  record.start = stamp(call->start_ns);
  record.end = stamp(call->end_ns);
  record.process_id = static_cast<uint32_t>(getpid());
  record.thread_id = thread_id(*call);
  record.correlation_id = call->correlation_id;
  record.return_value = static_cast<uint32_t>(call->result);
  queue(record);
}

void queue_kernel(const simcuda_execution& execution) {
  Kernel10 record{};
  kvet_cupti_kernel& kernel = record.base;
  kernel.kind = KVET_CUPTI_ACTIVITY_CONCURRENT_KERNEL;
  kernel.registers_per_thread = static_cast<uint16_t>(execution.registers_per_thread);
  kernel.start = stamp(execution.start_ns);
  kernel.end = stamp(execution.end_ns);
  kernel.completed = 0;  // CUPTI_TIMESTAMP_UNKNOWN
  kernel.device_id = execution.device;
  kernel.context_id = execution.context_id;
  kernel.stream_id = execution.stream_id;
  for (int i = 0; i < 3; ++i) {
    kernel.grid[i] = static_cast<int32_t>(execution.grid[i]);
    kernel.block[i] = static_cast<int32_t>(execution.block[i]);
    kernel.cluster[i] = execution.cluster[i];
  }
  kernel.static_shared_memory = static_cast<int32_t>(execution.static_shared_bytes);
  kernel.dynamic_shared_memory = static_cast<int32_t>(execution.dynamic_shared_bytes);
  kernel.local_memory_per_thread = execution.local_bytes;
  kernel.correlation_id = execution.correlation_id;
  kernel.grid_id = static_cast<int64_t>(execution.serial + 1);
  kernel.name = execution.name;
  kernel.launch_type = static_cast<uint8_t>(execution.launch_type);
  kernel.shared_memory_executed = shared_bytes_per_multiprocessor;
  kernel.graph_node_id = execution.graph_node_id;
  kernel.graph_id = execution.graph_id;
  kernel.channel_id = execution.stream_id;
  kernel.channel_type = 1;  // CUPTI_CHANNEL_TYPE_COMPUTE
  queue(record);
}

void queue_copy(const simcuda_execution& execution) {
  Memcpy6 record{};
  kvet_cupti_memcpy& copy = record.base;
  copy.kind = KVET_CUPTI_ACTIVITY_MEMCPY;
  copy.copy_kind = static_cast<uint8_t>(execution.copy_kind);
  copy.source_kind = execution.copy_kind == KVET_CUPTI_COPY_HTOD ? 2 : 3;  // CUpti_ActivityMemoryKind: pinned, device
  copy.destination_kind = execution.copy_kind == KVET_CUPTI_COPY_DTOH ? 2 : 3;
  copy.flags = 1;  // asynchronous
  copy.bytes = execution.bytes;
  copy.start = stamp(execution.start_ns);
  copy.end = stamp(execution.end_ns);
  copy.device_id = execution.device;
  copy.context_id = execution.context_id;
  copy.stream_id = execution.stream_id;
  copy.correlation_id = execution.correlation_id;
  copy.graph_node_id = execution.graph_node_id;
  copy.graph_id = execution.graph_id;
  record.copy_count = 1;
  queue(record);
}

void queue_fill(const simcuda_execution& execution) {
  kvet_cupti_memset fill{};
  fill.kind = KVET_CUPTI_ACTIVITY_MEMSET;
  fill.bytes = execution.bytes;
  fill.start = stamp(execution.start_ns);
  fill.end = stamp(execution.end_ns);
  fill.device_id = execution.device;
  fill.context_id = execution.context_id;
  fill.stream_id = execution.stream_id;
  fill.correlation_id = execution.correlation_id;
  fill.memory_kind = 3;
  fill.graph_node_id = execution.graph_node_id;
  fill.graph_id = execution.graph_id;
  queue(fill);
}

void queue_one(const simcuda_execution& execution) {
  if (execution.kind == simcuda_execution::kernel && options().is_enabled(KVET_CUPTI_ACTIVITY_CONCURRENT_KERNEL)) {
    queue_kernel(execution);
  } else if (execution.kind == simcuda_execution::copy && options().is_enabled(KVET_CUPTI_ACTIVITY_MEMCPY)) {
    queue_copy(execution);
  } else if (execution.kind == simcuda_execution::fill && options().is_enabled(KVET_CUPTI_ACTIVITY_MEMSET)) {
    queue_fill(execution);
  }
}

void on_execution(void*, const simcuda_execution* execution) {
  simcuda_execution told = *execution;
  for (uint32_t copies = mutate(told); copies > 0; --copies) {
    queue_one(told);
  }
}

bool mps_client() {
  const char* set = std::getenv("KVET_SIMCUDA_MPS");
  return set != nullptr && std::strcmp(set, "1") == 0;
}

void on_context(void*, uint32_t context_id, uint32_t device, uint32_t null_stream_id) {
  queue_device_records();
  if (!options().is_enabled(KVET_CUPTI_ACTIVITY_CONTEXT)) {
    return;
  }
  Context3 record{};
  record.base.kind = KVET_CUPTI_ACTIVITY_CONTEXT;
  record.base.context_id = context_id;
  record.base.device_id = device;
  record.base.compute_api_kind = mps_client() ? KVET_CUPTI_COMPUTE_API_CUDA_MPS : KVET_CUPTI_COMPUTE_API_CUDA;
  record.base.null_stream_id = static_cast<uint16_t>(null_stream_id);
  record.multiprocessors = multiprocessors;
  queue(record);
}

void on_stream(void*, const simcuda_stream* stream) {
  if (!options().is_enabled(KVET_CUPTI_ACTIVITY_STREAM)) {
    return;
  }
  kvet_cupti_stream record{};
  record.kind = KVET_CUPTI_ACTIVITY_STREAM;
  record.context_id = stream->context_id;
  record.stream_id = stream->stream_id;
  record.priority = static_cast<uint32_t>(stream->priority);
  record.flag = stream->flags;
  queue(record);
}

void on_module(void*, const void* image, size_t size) { show_module(image, size); }

}  // namespace

uint32_t record_size(uint32_t kind) {
  switch (kind) {
    case KVET_CUPTI_ACTIVITY_MEMCPY: return sizeof(Memcpy6);
    case KVET_CUPTI_ACTIVITY_MEMSET: return sizeof(kvet_cupti_memset);
    case KVET_CUPTI_ACTIVITY_DRIVER: return sizeof(kvet_cupti_api);
    case KVET_CUPTI_ACTIVITY_DEVICE: return sizeof(Device5);
    case KVET_CUPTI_ACTIVITY_CONTEXT: return sizeof(Context3);
    case KVET_CUPTI_ACTIVITY_CONCURRENT_KERNEL: return sizeof(Kernel10);
    case KVET_CUPTI_ACTIVITY_MARKER: return sizeof(kvet_cupti_marker);
    case KVET_CUPTI_ACTIVITY_STREAM: return sizeof(kvet_cupti_stream);
    default: return 0;
  }
}

void queue_device_records() {
  static std::atomic<bool> queued{false};
  const DriverFunctions* driver = driver_functions();
  const auto* world = driver == nullptr ? nullptr : static_cast<const World*>(driver->machine());
  if (world == nullptr || !options().is_enabled(KVET_CUPTI_ACTIVITY_DEVICE) || queued.exchange(true)) {
    return;  // before cuInit: with the first context
  }
  for (uint32_t i = 0; i < world->device_count; ++i) {
    Device5 record{};
    kvet_cupti_device& device = record.base;
    device.kind = KVET_CUPTI_ACTIVITY_DEVICE;
    device.flags = 1;  // CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS
    device.global_memory_bandwidth = static_cast<uint64_t>(dram_bytes_per_ns * 1e6);
    device.global_memory_size = memory_bytes;
    device.constant_memory_size = 65536;
    device.l2_cache_size = l2_bytes;
    device.threads_per_warp = threads_per_warp;
    device.core_clock_rate = static_cast<uint32_t>(clock_cycles_per_ns * 1e6);
    device.memcpy_engines = 2;
    device.multiprocessors = multiprocessors;
    device.max_warps_per_multiprocessor = warps_per_multiprocessor;
    device.max_blocks_per_multiprocessor = blocks_per_multiprocessor;
    device.max_shared_memory_per_multiprocessor = shared_bytes_per_multiprocessor;
    device.max_registers_per_multiprocessor = registers_per_multiprocessor;
    device.max_registers_per_block = registers_per_block;
    device.max_shared_memory_per_block = 48 * 1024;
    device.max_threads_per_block = threads_per_block;
    device.compute_capability_major = 9;
    device.id = i;
    std::memcpy(device.uuid.bytes, world->devices[i].uuid, sizeof device.uuid.bytes);
    device.name = "simcuda stand-in, no GPU";
    device.is_cuda_visible = 1;
    queue(record);
  }
}

Result begin_observing() {
  static std::once_flag once;
  static Result outcome = KVET_CUPTI_SUCCESS;
  std::call_once(once, [] {
    const DriverFunctions* driver = driver_functions();
    simcuda_observer observer{nullptr, on_call, on_execution, on_context, on_stream, on_module};
    if (driver == nullptr || driver->observe(&observer) != 0) {
      outcome = KVET_CUPTI_ERROR_NOT_INITIALIZED;
    }
  });
  return outcome;
}

}  // namespace simcuda::cupti
