#include "activity.h"

#include <dlfcn.h>

#include <cstdlib>
#include <ctime>
#include <mutex>

#include "abi/vendor/cupti_activity.h"
#include "abi/vendor/cupti_driver_callbacks.h"

namespace conformance {
namespace {

void* library = nullptr;
kvet_cupti_activity_get_next_record next_record = nullptr;
std::mutex mutex;
std::vector<SeenKernel> seen_kernels;
std::vector<SeenCall> seen_calls;
std::vector<SeenTransfer> seen_transfers;

template <class Function>
bool find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

uint64_t monotonic() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000ull + static_cast<uint64_t>(now.tv_nsec);
}

void requested(uint8_t** buffer, size_t* size, size_t* most) {
  *size = 64 * 1024;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
  *most = 0;
}

void take(const kvet_cupti_activity* record) {
  if (record->kind == KVET_CUPTI_ACTIVITY_CONCURRENT_KERNEL) {
    const auto& kernel = *reinterpret_cast<const kvet_cupti_kernel*>(record);
    SeenKernel seen{};
    seen.name = kernel.name;
    seen.start = kernel.start;
    seen.end = kernel.end;
    seen.graph_node_id = kernel.graph_node_id;
    seen.graph_id = kernel.graph_id;
    seen.correlation_id = kernel.correlation_id;
    seen.stream_id = kernel.stream_id;
    seen.context_id = kernel.context_id;
    for (int i = 0; i < 3; ++i) {
      seen.grid[i] = static_cast<uint32_t>(kernel.grid[i]);
      seen.block[i] = static_cast<uint32_t>(kernel.block[i]);
    }
    seen.registers = kernel.registers_per_thread;
    seen.dynamic_shared_bytes = kernel.dynamic_shared_memory;
    seen_kernels.push_back(seen);
  } else if (record->kind == KVET_CUPTI_ACTIVITY_DRIVER) {
    const auto& call = *reinterpret_cast<const kvet_cupti_api*>(record);
    seen_calls.push_back(
        {call.callback_id, call.correlation_id, call.thread_id, call.return_value, call.start, call.end});
  } else if (record->kind == KVET_CUPTI_ACTIVITY_MEMCPY) {
    const auto& copy = *reinterpret_cast<const kvet_cupti_memcpy*>(record);
    seen_transfers.push_back({false, copy.copy_kind, copy.correlation_id, copy.bytes, copy.start, copy.end});
  } else if (record->kind == KVET_CUPTI_ACTIVITY_MEMSET) {
    const auto& fill = *reinterpret_cast<const kvet_cupti_memset*>(record);
    seen_transfers.push_back({true, 0, fill.correlation_id, fill.bytes, fill.start, fill.end});
  }
}

void completed(kvet_cuda_context_t, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  std::lock_guard guard(mutex);
  kvet_cupti_activity* record = nullptr;
  while (next_record(buffer, valid, &record) == KVET_CUPTI_SUCCESS) {
    take(record);
  }
  std::free(buffer);
}

}  // namespace

const char* start_activity() {
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
    library = library != nullptr ? library : dlopen(name, RTLD_NOW);
  }
  if (library == nullptr) {
    return "no libcupti";
  }
  kvet_cupti_set_thread_id_type set_thread_ids;
  kvet_cupti_activity_register_timestamp_callback register_clock;
  kvet_cupti_activity_register_callbacks register_buffers;
  kvet_cupti_activity_enable enable;
  kvet_cupti_activity_enable_driver_api enable_call;
  if (!find(set_thread_ids, "cuptiSetThreadIdType") ||
      !find(register_clock, "cuptiActivityRegisterTimestampCallback") ||
      !find(register_buffers, "cuptiActivityRegisterCallbacks") || !find(enable, "cuptiActivityEnable") ||
      !find(enable_call, "cuptiActivityEnableDriverApi") || !find(next_record, "cuptiActivityGetNextRecord")) {
    return "libcupti lacks a function";
  }
  bool fine = set_thread_ids(KVET_CUPTI_THREAD_ID_SYSTEM) == KVET_CUPTI_SUCCESS;
  fine = fine && register_clock(monotonic) == KVET_CUPTI_SUCCESS;
  fine = fine && register_buffers(requested, completed) == KVET_CUPTI_SUCCESS;
  fine = fine && enable(KVET_CUPTI_ACTIVITY_CONCURRENT_KERNEL) == KVET_CUPTI_SUCCESS;
  fine = fine && enable(KVET_CUPTI_ACTIVITY_MEMCPY) == KVET_CUPTI_SUCCESS;
  fine = fine && enable(KVET_CUPTI_ACTIVITY_MEMSET) == KVET_CUPTI_SUCCESS;
  for (uint32_t call : {KVET_CUPTI_DRIVER_cuLaunchKernel, KVET_CUPTI_DRIVER_cuLaunchKernelEx,
                        KVET_CUPTI_DRIVER_cuLaunchCooperativeKernel, KVET_CUPTI_DRIVER_cuGraphLaunch,
                        KVET_CUPTI_DRIVER_cuStreamSynchronize, KVET_CUPTI_DRIVER_cuCtxSynchronize}) {
    fine = fine && enable_call(call, 1) == KVET_CUPTI_SUCCESS;
  }
  return fine ? nullptr : "CUPTI refused";
}

void flush_activity() {
  kvet_cupti_activity_flush_all flush;
  if (library != nullptr && find(flush, "cuptiActivityFlushAll")) {
    flush(0);
  }
}

std::vector<SeenKernel> kernels() {
  std::lock_guard guard(mutex);
  return seen_kernels;
}
std::vector<SeenCall> calls() {
  std::lock_guard guard(mutex);
  return seen_calls;
}
std::vector<SeenTransfer> transfers() {
  std::lock_guard guard(mutex);
  return seen_transfers;
}
uint64_t dropped_records() {
  kvet_cupti_activity_get_num_dropped_records get;
  size_t dropped = 0;
  if (library != nullptr && find(get, "cuptiActivityGetNumDroppedRecords")) {
    get(nullptr, 0, &dropped);
  }
  return dropped;
}
void forget_activity() {
  flush_activity();
  std::lock_guard guard(mutex);
  seen_kernels.clear();
  seen_calls.clear();
  seen_transfers.clear();
}

}  // namespace conformance
