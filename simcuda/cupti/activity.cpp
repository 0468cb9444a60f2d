// The activity API's entry points.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

#include "cupti/cupti.h"
#include "device/shared_world.h"

namespace simcuda::cupti {
namespace {

constexpr uint32_t cuda_13_0 = 130001;
kvet_cupti_timestamp_function timestamp_function = nullptr;

bool is_kind(uint32_t kind) { return kind > 0 && kind < 64; }

// The records' clock against CLOCK_MONOTONIC. A difference within the error of the reading is none.
void measure_clock() {
  if (timestamp_function == nullptr) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    options().clock_offset_ns = now.tv_sec * 1'000'000'000ll + now.tv_nsec - monotonic_ns();
    return;
  }
  int64_t before = monotonic_ns();
  auto theirs = static_cast<int64_t>(timestamp_function());
  int64_t after = monotonic_ns();
  options().clock_offset_ns = theirs >= before && theirs <= after ? 0 : theirs - (before + after) / 2;
}

}  // namespace

Options& options() {
  static auto* instance = new Options;
  return *instance;
}

bool behaves(const char* how) {
  const char* text = std::getenv("KVET_SIMCUDA_CUPTI");
  return text != nullptr && std::strcmp(text, how) == 0;
}

bool held_by_another_profiler() { return behaves("held"); }

const DriverFunctions* driver_functions() {
  static DriverFunctions functions;
  static std::mutex mutex;
  static std::atomic<bool> found{false};
  if (found.load(std::memory_order_acquire)) {
    return &functions;
  }
  std::lock_guard guard(mutex);
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) {
    return nullptr;
  }
  functions.observe = reinterpret_cast<decltype(functions.observe)>(dlsym(library, "simcuda_observe"));
  functions.collect = reinterpret_cast<decltype(functions.collect)>(dlsym(library, "simcuda_collect"));
  functions.context_id = reinterpret_cast<decltype(functions.context_id)>(dlsym(library, "simcuda_context_id"));
  functions.stream_id = reinterpret_cast<decltype(functions.stream_id)>(dlsym(library, "simcuda_stream_id"));
  functions.machine = reinterpret_cast<decltype(functions.machine)>(dlsym(library, "simcuda_machine"));
  if (functions.observe == nullptr) {  // a libcuda that is not the stand-in
    return nullptr;
  }
  found.store(true, std::memory_order_release);
  return &functions;
}

SIMCUDA_API int cuptiGetVersion(uint32_t* version) {
  *version = cuda_13_0;
  return KVET_CUPTI_SUCCESS;
}

SIMCUDA_API int cuptiGetResultString(int result, const char** text) {
  switch (result) {
    case KVET_CUPTI_SUCCESS: *text = "CUPTI_SUCCESS"; break;
    case KVET_CUPTI_ERROR_INVALID_PARAMETER: *text = "CUPTI_ERROR_INVALID_PARAMETER"; break;
    case KVET_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES: *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"; break;
    case KVET_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
      break;
    default: *text = "CUPTI_ERROR_UNKNOWN"; break;
  }
  return KVET_CUPTI_SUCCESS;
}
SIMCUDA_API int cuptiGetErrorMessage(int result, const char** text) { return cuptiGetResultString(result, text); }
SIMCUDA_API int cuptiGetLastError() { return KVET_CUPTI_SUCCESS; }

SIMCUDA_API int cuptiGetTimestamp(uint64_t* timestamp) {
  measure_clock();
  *timestamp = static_cast<uint64_t>(monotonic_ns() + options().clock_offset_ns);
  return KVET_CUPTI_SUCCESS;
}

SIMCUDA_API int cuptiActivityRegisterTimestampCallback(kvet_cupti_timestamp_function function) {
  if (function == nullptr) {
    return KVET_CUPTI_ERROR_INVALID_PARAMETER;
  }
  timestamp_function = function;
  measure_clock();
  return KVET_CUPTI_SUCCESS;
}

SIMCUDA_API int cuptiSetThreadIdType(uint32_t type) {
  options().thread_ids = type == KVET_CUPTI_THREAD_ID_SYSTEM ? ThreadIds::system : ThreadIds::truncated_pthread;
  return KVET_CUPTI_SUCCESS;
}

SIMCUDA_API int cuptiActivityRegisterCallbacks(kvet_cupti_buffer_requested_function requested,
                                               kvet_cupti_buffer_completed_function completed) {
  if (requested == nullptr || completed == nullptr) {
    return KVET_CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (held_by_another_profiler()) {
    return KVET_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  if (timestamp_function == nullptr) {
    measure_clock();
  }
  start_delivery(requested, completed);
  return KVET_CUPTI_SUCCESS;
}

SIMCUDA_API int cuptiActivityEnable(uint32_t kind) {
  if (!is_kind(kind)) {
    return KVET_CUPTI_ERROR_INVALID_KIND;
  }
  if (held_by_another_profiler()) {
    return KVET_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  options().enabled_kinds |= 1ull << kind;
  if (kind == KVET_CUPTI_ACTIVITY_DRIVER) {
    options().every_driver_call = true;
  }
  if (kind == KVET_CUPTI_ACTIVITY_DEVICE) {
    queue_device_records();
  }
  return begin_observing();
}

SIMCUDA_API int cuptiActivityDisable(uint32_t kind) {
  if (!is_kind(kind)) {
    return KVET_CUPTI_ERROR_INVALID_KIND;
  }
  options().enabled_kinds &= ~(1ull << kind);
  if (kind == KVET_CUPTI_ACTIVITY_DRIVER) {
    options().every_driver_call = false;
    for (auto& call : options().driver_calls) {
      call = 0;
    }
  }
  return KVET_CUPTI_SUCCESS;
}

SIMCUDA_API int cuptiActivityEnableDriverApi(uint32_t callback_id, uint8_t enable) {
  if (callback_id == 0 || callback_id >= std::size(options().driver_calls)) {
    return KVET_CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (held_by_another_profiler()) {
    return KVET_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  options().driver_calls[callback_id] = enable != 0 ? 1 : 0;
  return begin_observing();
}
SIMCUDA_API int cuptiActivityEnableRuntimeApi(uint32_t, uint8_t) { return KVET_CUPTI_SUCCESS; }

SIMCUDA_API int cuptiActivityFlushAll(uint32_t) {
  while (behaves("stuck")) {
    pause();
  }
  flush();
  return KVET_CUPTI_SUCCESS;
}
SIMCUDA_API int cuptiActivityFlushPeriod(uint32_t milliseconds) {
  set_flush_period(milliseconds);
  return KVET_CUPTI_SUCCESS;
}

// Pool sizes and the like: taken and without effect. What is read back is what CUDA 13.0 documents as the default.
SIMCUDA_API int cuptiActivitySetAttribute(uint32_t, size_t* size, void* value) {
  return size == nullptr || value == nullptr ? KVET_CUPTI_ERROR_INVALID_PARAMETER : KVET_CUPTI_SUCCESS;
}
SIMCUDA_API int cuptiActivityGetAttribute(uint32_t attribute, size_t* size, void* value) {
  if (size == nullptr || value == nullptr || *size < sizeof(size_t)) {
    return KVET_CUPTI_ERROR_INVALID_PARAMETER;
  }
  size_t answer = attribute == KVET_CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE ? 3'200'000 : 250;
  std::memcpy(value, &answer, sizeof answer);
  return KVET_CUPTI_SUCCESS;
}

SIMCUDA_API int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_size, kvet_cupti_activity** record) {
  if (buffer == nullptr || record == nullptr) {
    return KVET_CUPTI_ERROR_INVALID_PARAMETER;
  }
  uint8_t* next = buffer;
  if (*record != nullptr) {
    uint32_t size = record_size((*record)->kind);
    if (size == 0) {
      return KVET_CUPTI_ERROR_INVALID_KIND;
    }
    next = reinterpret_cast<uint8_t*>(*record) + size;
  }
  if (next >= buffer + valid_size) {
    return KVET_CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  *record = reinterpret_cast<kvet_cupti_activity*>(next);
  return KVET_CUPTI_SUCCESS;
}

SIMCUDA_API int cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
  *dropped = take_dropped();
  return KVET_CUPTI_SUCCESS;
}

SIMCUDA_API int cuptiGetContextId(void* context, uint32_t* id) {
  if (context == nullptr || driver_functions() == nullptr) {
    return KVET_CUPTI_ERROR_INVALID_PARAMETER;
  }
  *id = driver_functions()->context_id(context);
  return KVET_CUPTI_SUCCESS;
}
SIMCUDA_API int cuptiGetStreamIdEx(void*, void* stream, uint8_t, uint32_t* id) {
  if (driver_functions() == nullptr) {
    return KVET_CUPTI_ERROR_NOT_INITIALIZED;
  }
  *id = driver_functions()->stream_id(stream);
  return KVET_CUPTI_SUCCESS;
}

SIMCUDA_API int cuptiFinalize() { return KVET_CUPTI_SUCCESS; }

}  // namespace simcuda::cupti
