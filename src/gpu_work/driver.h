// The calls of libcuda.so.1 that kvet's own GPU work needs, opened at run time. Functions return CUresult; 0 is success.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "abi/vendor/cuda_driver.h"
#include "base/result.h"

namespace kvet::gpu_work {

struct Driver {
  int (*init)(unsigned flags) = nullptr;
  int (*get_version)(int* version) = nullptr;
  int (*get_error_string)(int error, const char** text) = nullptr;
  int (*device_get_count)(int* count) = nullptr;
  int (*device_get)(int* device, int ordinal) = nullptr;
  int (*device_get_uuid)(kvet_cuda_uuid* uuid, int device) = nullptr;
  int (*device_get_name)(char* name, int length, int device) = nullptr;
  int (*device_get_attribute)(int* value, int attribute, int device) = nullptr;
  int (*context_create)(kvet_cuda_context_t* context, unsigned flags, int device) = nullptr;
  int (*context_destroy)(kvet_cuda_context_t context) = nullptr;
  int (*context_set_current)(kvet_cuda_context_t context) = nullptr;
  int (*module_load)(kvet_cuda_module_t* module, const void* image) = nullptr;
  int (*module_get_function)(kvet_cuda_function_t* function, kvet_cuda_module_t module, const char* name) = nullptr;
  int (*memory_get_info)(size_t* free, size_t* total) = nullptr;
  int (*memory_allocate)(uint64_t* address, size_t bytes) = nullptr;
  int (*memory_free)(uint64_t address) = nullptr;
  int (*host_allocate)(void** memory, size_t bytes, unsigned flags) = nullptr;
  int (*host_free)(void* memory) = nullptr;
  int (*host_get_device_pointer)(uint64_t* address, void* memory, unsigned flags) = nullptr;
  int (*stream_create)(kvet_cuda_stream_t* stream, unsigned flags) = nullptr;
  int (*stream_destroy)(kvet_cuda_stream_t stream) = nullptr;
  int (*stream_query)(kvet_cuda_stream_t stream) = nullptr;
  int (*event_create)(kvet_cuda_event_t* event, unsigned flags) = nullptr;
  int (*event_destroy)(kvet_cuda_event_t event) = nullptr;
  int (*event_record)(kvet_cuda_event_t event, kvet_cuda_stream_t stream) = nullptr;
  int (*event_elapsed)(float* milliseconds, kvet_cuda_event_t from, kvet_cuda_event_t to) = nullptr;
  int (*launch)(kvet_cuda_function_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, kvet_cuda_stream_t stream, void** arguments,
                void** extra) = nullptr;

  // "out of memory (2)": for messages.
  [[nodiscard]] std::string describe(int result) const;
};

// Opens the library and looks the functions up; initialises nothing. The library stays open until the process ends.
Result<Driver> load_driver();

}  // namespace kvet::gpu_work
