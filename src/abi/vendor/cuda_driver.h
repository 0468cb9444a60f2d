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

typedef kvet_i32 kvet_cuda_result;  // CUresult
enum kvet_cuda_result_value {
  KVET_CUDA_SUCCESS = 0,
  KVET_CUDA_ERROR_INVALID_VALUE = 1,
  KVET_CUDA_ERROR_OUT_OF_MEMORY = 2,
  KVET_CUDA_ERROR_NOT_INITIALIZED = 3,
  KVET_CUDA_ERROR_DEINITIALIZED = 4,
  KVET_CUDA_ERROR_NO_DEVICE = 100,
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
