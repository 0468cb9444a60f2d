// Device memory, copies and fills. Addresses are only numbers: copies take time on the model and move no data.
#include <cstdlib>

#include "abi/vendor/cupti_driver_callbacks.h"
#include "cuda/driver.h"

namespace simcuda::driver {
namespace {

Result enqueue_transfer(Call& call, OperationKind kind, CopyDirection direction, size_t bytes, void* stream_handle) {
  if (Result state = usable(); state != success) {
    return state;
  }
  StreamHandle* stream = resolve(stream_handle);
  if (stream == nullptr) {
    return error_invalid_context;
  }
  Node node;
  node.kind = kind;
  node.direction = direction;
  node.bytes = bytes;
  return enqueue(*stream, node, call.correlation());
}

Result transfer_and_wait(Call& call, OperationKind kind, CopyDirection direction, size_t bytes) {
  Result submitted = enqueue_transfer(call, kind, direction, bytes, nullptr);
  if (submitted != success) {
    return submitted;
  }
  uint32_t stream = current_context->null_stream.world_index;
  uint64_t wanted;
  {
    Locked world(*driver().world);
    wanted = world->streams[stream].submitted;
  }
  wait_until([&](const World& world) { return world.streams[stream].completed >= wanted; },
             current_context->blocking_sync);
  return success;
}

}  // namespace

SIMCUDA_API int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (Result state = usable(); state != success) {
    return state;
  }
  if (address == nullptr || bytes == 0) {
    return error_invalid_value;
  }
  constexpr uint64_t granularity = 512;
  std::lock_guard guard(driver().mutex);
  *address = driver().next_address;
  driver().next_address += (bytes + granularity - 1) / granularity * granularity;
  return success;
}
SIMCUDA_API int cuMemGetInfo_v2(size_t* free, size_t* total) {
  if (current_context == nullptr) {
    return error_invalid_context;
  }
  *free = *total = memory_bytes;
  return success;
}
SIMCUDA_API int cuMemFree_v2(uint64_t) { return usable(); }

SIMCUDA_API int cuMemAllocHost_v2(void** memory, size_t bytes) {
  if (Result state = usable(); state != success) {
    return state;
  }
  *memory = std::malloc(bytes);
  return *memory == nullptr ? error_out_of_memory : success;
}
// Pinned memory has the same address for kernels as for the host, as with unified addressing.
SIMCUDA_API int cuMemHostAlloc(void** memory, size_t bytes, unsigned) { return cuMemAllocHost_v2(memory, bytes); }
SIMCUDA_API int cuMemHostGetDevicePointer_v2(uint64_t* address, void* memory, unsigned) {
  *address = reinterpret_cast<uint64_t>(memory);
  return usable();
}
SIMCUDA_API int cuMemFreeHost(void* memory) {
  std::free(memory);
  return usable();
}

SIMCUDA_API int cuMemcpyHtoDAsync_v2(uint64_t, const void*, size_t bytes, void* stream) {
  Call call(KVET_CUPTI_DRIVER_cuMemcpyHtoDAsync_v2);
  return call.end(enqueue_transfer(call, OperationKind::copy, CopyDirection::host_to_device, bytes, stream));
}
SIMCUDA_API int cuMemcpyDtoHAsync_v2(void*, uint64_t, size_t bytes, void* stream) {
  Call call(KVET_CUPTI_DRIVER_cuMemcpyDtoHAsync_v2);
  return call.end(enqueue_transfer(call, OperationKind::copy, CopyDirection::device_to_host, bytes, stream));
}
SIMCUDA_API int cuMemcpyDtoDAsync_v2(uint64_t, uint64_t, size_t bytes, void* stream) {
  Call call(KVET_CUPTI_DRIVER_cuMemcpyDtoDAsync_v2);
  return call.end(enqueue_transfer(call, OperationKind::copy, CopyDirection::device_to_device, bytes, stream));
}
SIMCUDA_API int cuMemcpyHtoD_v2(uint64_t, const void*, size_t bytes) {
  Call call(KVET_CUPTI_DRIVER_cuMemcpyHtoD_v2);
  return call.end(transfer_and_wait(call, OperationKind::copy, CopyDirection::host_to_device, bytes));
}
SIMCUDA_API int cuMemcpyDtoH_v2(void*, uint64_t, size_t bytes) {
  Call call(KVET_CUPTI_DRIVER_cuMemcpyDtoH_v2);
  return call.end(transfer_and_wait(call, OperationKind::copy, CopyDirection::device_to_host, bytes));
}
SIMCUDA_API int cuMemsetD8Async(uint64_t, unsigned char, size_t bytes, void* stream) {
  Call call(KVET_CUPTI_DRIVER_cuMemsetD8Async);
  return call.end(enqueue_transfer(call, OperationKind::fill, CopyDirection::device_to_device, bytes, stream));
}
SIMCUDA_API int cuMemsetD32Async(uint64_t, unsigned, size_t words, void* stream) {
  Call call(KVET_CUPTI_DRIVER_cuMemsetD32Async);
  return call.end(enqueue_transfer(call, OperationKind::fill, CopyDirection::device_to_device, words * 4, stream));
}

}  // namespace simcuda::driver
