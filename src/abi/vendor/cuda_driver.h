// Our own declarations of what kvet uses of the CUDA driver API. Written for kvet from the published interface, so that
// no build needs NVIDIA's headers; vendor_check.cpp holds them against cuda.h where that is found. Every name begins with
// kvet_cuda, so that NVIDIA's headers can be included beside this one. Plain C, 64-bit targets.
#ifndef KVET_ABI_VENDOR_CUDA_DRIVER_H
#define KVET_ABI_VENDOR_CUDA_DRIVER_H

#ifndef __bpf__
#include <stddef.h>
#include <stdint.h>
#endif

#include "abi/records.h"

// Opaque handles: CUcontext, CUstream, CUfunction, CUmodule, CUevent, CUgraph, CUgraphExec, CUgraphNode.
typedef struct kvet_cuda_context* kvet_cuda_context_t;
typedef struct kvet_cuda_stream* kvet_cuda_stream_t;
typedef struct kvet_cuda_function* kvet_cuda_function_t;
typedef struct kvet_cuda_graph_exec* kvet_cuda_graph_exec_t;
typedef struct kvet_cuda_module* kvet_cuda_module_t;
typedef struct kvet_cuda_event* kvet_cuda_event_t;

typedef kvet_i32 kvet_cuda_result;  // CUresult
enum kvet_cuda_result_value {
  KVET_CUDA_SUCCESS = 0,
  KVET_CUDA_ERROR_INVALID_VALUE = 1,
  KVET_CUDA_ERROR_OUT_OF_MEMORY = 2,
  KVET_CUDA_ERROR_NOT_INITIALIZED = 3,
  KVET_CUDA_ERROR_DEINITIALIZED = 4,
  KVET_CUDA_ERROR_DEVICE_UNAVAILABLE = 46,  // held by another process in exclusive mode, or prohibited
  KVET_CUDA_ERROR_NO_DEVICE = 100,
  KVET_CUDA_ERROR_INVALID_DEVICE = 101,
  KVET_CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  KVET_CUDA_ERROR_INVALID_PTX = 218,
  KVET_CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
  KVET_CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  KVET_CUDA_ERROR_NOT_FOUND = 500,
  KVET_CUDA_ERROR_NOT_READY = 600,
};

enum kvet_cuda_device_attribute {  // CUdevice_attribute
  KVET_CUDA_WARP_SIZE = 10,
  KVET_CUDA_MULTIPROCESSORS = 16,
  KVET_CUDA_COMPUTE_MODE = 20,
  KVET_CUDA_MEMORY_CLOCK_KHZ = 36,
  KVET_CUDA_MEMORY_BUS_BITS = 37,
  KVET_CUDA_L2_BYTES = 38,
  KVET_CUDA_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  KVET_CUDA_COMPUTE_MAJOR = 75,
  KVET_CUDA_COMPUTE_MINOR = 76,
  KVET_CUDA_MAX_SHARED_PER_MULTIPROCESSOR = 81,
  KVET_CUDA_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  KVET_CUDA_MAX_SHARED_PER_BLOCK_OPTIN = 97,
  KVET_CUDA_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
};
enum kvet_cuda_compute_mode {  // CUcomputemode
  KVET_CUDA_COMPUTE_MODE_DEFAULT = 0,
  KVET_CUDA_COMPUTE_MODE_PROHIBITED = 2,
  KVET_CUDA_COMPUTE_MODE_EXCLUSIVE_PROCESS = 3,
};
enum {
  KVET_CUDA_CONTEXT_SCHEDULE_BLOCKING_SYNC = 4,  // CU_CTX_SCHED_BLOCKING_SYNC: never spins
  KVET_CUDA_HOST_ALLOCATE_PORTABLE = 1,  // CU_MEMHOSTALLOC_PORTABLE
  KVET_CUDA_HOST_ALLOCATE_DEVICE_MAPPED = 2,  // CU_MEMHOSTALLOC_DEVICEMAP
  KVET_CUDA_STREAM_NON_BLOCKING = 1,  // CU_STREAM_NON_BLOCKING
  KVET_CUDA_EVENT_DEFAULT = 0,  // CU_EVENT_DEFAULT: with a time
};

struct kvet_cuda_uuid {
  kvet_u8 bytes[16];
};

// CUlaunchConfig, the first argument of cuLaunchKernelEx.
struct kvet_cuda_launch_config {
  kvet_u32 grid[3];
  kvet_u32 block[3];
  kvet_u32 shared_bytes;
  kvet_u32 padding;
  kvet_u64 stream;  // CUstream
  kvet_u64 attributes;  // CUlaunchAttribute*
  kvet_u32 attribute_count;
  kvet_u32 padding2;
};
KVET_STATIC_ASSERT(sizeof(struct kvet_cuda_launch_config) == 56, "CUlaunchConfig is 56 bytes");

// CUlaunchAttribute: 72 bytes, the value (64 bytes) at 8.
struct kvet_cuda_launch_attribute {
  kvet_u32 id;  // enum kvet_cuda_launch_attribute_id
  kvet_u32 padding;
  union {
    kvet_u8 bytes[64];
    kvet_u32 cluster[3];
    kvet_i32 cooperative;
    kvet_i32 programmatic_stream_serialization_allowed;
  } value;
};
KVET_STATIC_ASSERT(sizeof(struct kvet_cuda_launch_attribute) == 72, "CUlaunchAttribute is 72 bytes");
enum kvet_cuda_launch_attribute_id {
  KVET_CUDA_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  KVET_CUDA_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  KVET_CUDA_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
};

#endif
