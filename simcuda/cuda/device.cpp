// Devices and contexts.
#include <cstdio>
#include <cstring>

#include "abi/vendor/cuda_driver.h"
#include "cuda/driver.h"

namespace simcuda::driver {
namespace {

bool is_device(int device) { return device >= 0 && static_cast<uint32_t>(device) < driver().world->device_count; }

Context* make_context(uint32_t device) {
  Driver& self = driver();
  auto context = std::make_unique<Context>();
  context->id = self.next_context++;
  context->device = device;
  context->null_stream.context = context.get();
  context->null_stream.id = 7;  // as CUPTI numbers the first context's null stream
  context->null_stream.flags = 3;
  {
    Locked world(*self.world);
    Stream wanted{};
    wanted.process = self.process;
    wanted.device = device;
    wanted.id = context->null_stream.id;
    wanted.context_id = context->id;
    context->null_stream.world_index = create_stream(*world, wanted);
  }
  self.contexts.push_back(std::move(context));
  Context* made = self.contexts.back().get();
  notify_context(*made);
  return made;
}

// What cuDeviceGetAttribute answers (CUdevice_attribute), from device/limits.h.
bool attribute_value(int attribute, int& value) {
  switch (attribute) {
    case 1: value = threads_per_block; return true;                 // MAX_THREADS_PER_BLOCK
    case 2:
    case 3: value = 1024; return true;                      // MAX_BLOCK_DIM_X, Y
    case 4: value = 64; return true;                                // MAX_BLOCK_DIM_Z
    case 5: value = 2147483647; return true;                        // MAX_GRID_DIM_X
    case 6:
    case 7: value = 65535; return true;                     // MAX_GRID_DIM_Y, Z
    case 8: value = 48 * 1024; return true;                         // MAX_SHARED_MEMORY_PER_BLOCK
    case 10: value = threads_per_warp; return true;                 // WARP_SIZE
    case 12: value = registers_per_block; return true;              // MAX_REGISTERS_PER_BLOCK
    case 13: value = static_cast<int>(clock_cycles_per_ns * 1e6); return true;  // CLOCK_RATE, kHz
    case 16: value = multiprocessors; return true;                  // MULTIPROCESSOR_COUNT
    case 19: value = 1; return true;                                // CAN_MAP_HOST_MEMORY
    case 20: value = 0; return true;                                // COMPUTE_MODE: default
    case 31:
      value = 1;
      return true;                                // CONCURRENT_KERNELS
    // Twice the clock times the bus width in bytes is the bandwidth: 4800 GB/s = 2 × 3.125 GHz × 768 bytes.
    case 36: value = 3'125'000; return true;                        // MEMORY_CLOCK_RATE, kHz
    case 37: value = 768 * 8; return true;                          // GLOBAL_MEMORY_BUS_WIDTH, bits
    case 38: value = l2_bytes; return true;                         // L2_CACHE_SIZE
    case 39: value = warps_per_multiprocessor * threads_per_warp; return true;  // MAX_THREADS_PER_MULTIPROCESSOR
    case 40: value = 2; return true;                                // ASYNC_ENGINE_COUNT
    case 75: value = 9; return true;                                // COMPUTE_CAPABILITY_MAJOR
    case 76: value = 0; return true;                                // COMPUTE_CAPABILITY_MINOR
    case 81: value = shared_bytes_per_multiprocessor; return true;  // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    case 82: value = registers_per_multiprocessor; return true;     // MAX_REGISTERS_PER_MULTIPROCESSOR
    case 95: value = 1; return true;                                // COOPERATIVE_LAUNCH
    case 97: value = shared_bytes_per_block; return true;           // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    case 106: value = blocks_per_multiprocessor; return true;       // MAX_BLOCKS_PER_MULTIPROCESSOR
    case 111: value = reserved_shared_bytes_per_block; return true; // RESERVED_SHARED_MEMORY_PER_BLOCK
    default: return false;
  }
}

}  // namespace

SIMCUDA_API int cuDeviceGetCount(int* count) {
  if (Result state = usable(); state != success) {
    return state;
  }
  *count = static_cast<int>(driver().world->device_count);
  return success;
}

SIMCUDA_API int cuDeviceGet(int* device, int ordinal) {
  if (Result state = usable(); state != success) {
    return state;
  }
  if (!is_device(ordinal)) {
    return error_invalid_device;
  }
  *device = ordinal;
  return success;
}

SIMCUDA_API int cuDeviceGetName(char* name, int length, int device) {
  if (Result state = usable(); state != success) {
    return state;
  }
  if (!is_device(device) || length <= 0) {
    return error_invalid_device;
  }
  std::snprintf(name, static_cast<size_t>(length), "simcuda stand-in, no GPU");
  return success;
}

SIMCUDA_API int cuDeviceGetUuid_v2(kvet_cuda_uuid* uuid, int device) {
  if (Result state = usable(); state != success) {
    return state;
  }
  if (!is_device(device)) {
    return error_invalid_device;
  }
  std::memcpy(uuid->bytes, driver().world->devices[device].uuid, sizeof uuid->bytes);
  return success;
}
SIMCUDA_API int cuDeviceGetUuid(kvet_cuda_uuid* uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

SIMCUDA_API int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  if (!is_device(device)) {
    return error_invalid_device;
  }
  *bytes = memory_bytes;
  return success;
}

SIMCUDA_API int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (Result state = usable(); state != success) {
    return state;
  }
  if (!is_device(device)) {
    return error_invalid_device;
  }
  return attribute_value(attribute, *value) ? success : error_invalid_value;
}

SIMCUDA_API int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (Result state = usable(); state != success) {
    return state;
  }
  if (!is_device(device)) {
    return error_invalid_device;
  }
  std::lock_guard guard(driver().mutex);
  for (const auto& known : driver().contexts) {
    if (known->primary_uses > 0 && known->device == static_cast<uint32_t>(device)) {
      ++known->primary_uses;
      *context = known.get();
      return success;
    }
  }
  Context* made = make_context(static_cast<uint32_t>(device));
  made->primary_uses = 1;
  *context = made;
  return success;
}
// The primary context stays: what it holds is freed when the process ends.
SIMCUDA_API int cuDevicePrimaryCtxRelease_v2(int) { return usable(); }
SIMCUDA_API int cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return usable(); }

SIMCUDA_API int cuCtxCreate_v2(void** context, unsigned flags, int device) {
  if (Result state = usable(); state != success) {
    return state;
  }
  if (!is_device(device)) {
    return error_invalid_device;
  }
  constexpr unsigned schedule_blocking_sync = 4;  // CU_CTX_SCHED_BLOCKING_SYNC
  std::lock_guard guard(driver().mutex);
  current_context = make_context(static_cast<uint32_t>(device));
  current_context->blocking_sync = (flags & schedule_blocking_sync) != 0;
  *context = current_context;
  return success;
}
SIMCUDA_API int cuCtxCreate_v4(void** context, void*, unsigned flags, int device) {
  return cuCtxCreate_v2(context, flags, device);
}
SIMCUDA_API int cuCtxDestroy_v2(void* context) {
  if (context == current_context) {
    current_context = nullptr;
  }
  return usable();
}

SIMCUDA_API int cuCtxSetCurrent(void* context) {
  if (Result state = usable(); state != success) {
    return state;
  }
  current_context = static_cast<Context*>(context);
  return success;
}
SIMCUDA_API int cuCtxGetCurrent(void** context) {
  if (Result state = usable(); state != success) {
    return state;
  }
  *context = current_context;
  return success;
}
SIMCUDA_API int cuCtxGetDevice(int* device) {
  if (current_context == nullptr) {
    return error_invalid_context;
  }
  *device = static_cast<int>(current_context->device);
  return success;
}

SIMCUDA_API int cuGetErrorString(int error, const char** text) {
  switch (error) {
    case success: *text = "no error"; break;
    case error_invalid_value: *text = "invalid argument"; break;
    case error_out_of_memory: *text = "out of memory"; break;
    case error_not_initialized: *text = "initialization error"; break;
    case error_no_device: *text = "no CUDA-capable device is detected"; break;
    case error_invalid_device: *text = "invalid device ordinal"; break;
    case error_invalid_image: *text = "device kernel image is invalid"; break;
    case error_invalid_context: *text = "invalid device context"; break;
    case error_invalid_handle: *text = "invalid resource handle"; break;
    case error_not_found: *text = "named symbol not found"; break;
    case error_not_ready: *text = "device not ready"; break;
    case error_launch_out_of_resources: *text = "too many resources requested for launch"; break;
    default: *text = "unspecified error"; break;
  }
  return success;
}

}  // namespace simcuda::driver
