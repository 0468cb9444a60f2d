// Our own declarations of what kvet uses of CUPTI's activity interface: record layouts, enumerations, function types.
// Written for kvet from the published interface; vendor_check.cpp holds every offset, size and value against NVIDIA's
// headers where they are found. Names begin with kvet_cupti. Plain C, 64-bit targets.
//
// Why reading a prefix is sound. A record type grows by versions (CUpti_ActivityKernel8, 9, 10, ...). A libcupti always
// delivers the newest version that it knows, whatever its caller was built against. Since CUDA 11 each version has only
// appended fields, or given a name to padding, and records are walked with cuptiActivityGetNextRecord, which knows
// their sizes. So the layouts below, as of CUDA 12.0 (cuptiGetVersion 19, KVET_CUPTI_VERSION_MINIMUM), are prefixes of
// what any later version delivers. Fields that came later are listed with the version that brought them and must not be
// read below it. An older libcupti is refused: its records are shorter. KVET_CUPTI_VERSION_CHECKED is the newest version
// that vendor_check.cpp was compiled against; a newer one is used all the same, and the version goes into the table.
#ifndef KVET_ABI_VENDOR_CUPTI_ACTIVITY_H
#define KVET_ABI_VENDOR_CUPTI_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>

#include "abi/vendor/cuda_driver.h"

#define KVET_CUPTI_VERSION_MINIMUM 19u  // CUDA 12.0
#define KVET_CUPTI_VERSION_CHECKED 130001u  // CUDA 13.0 update 1

typedef int32_t kvet_cupti_result;  // CUptiResult
enum kvet_cupti_result_value {
  KVET_CUPTI_SUCCESS = 0,
  KVET_CUPTI_ERROR_INVALID_PARAMETER = 1,
  KVET_CUPTI_ERROR_INVALID_OPERATION = 7,
  KVET_CUPTI_ERROR_MAX_LIMIT_REACHED = 12,  // end of a buffer; also: a subscriber is there already
  KVET_CUPTI_ERROR_NOT_READY = 13,
  KVET_CUPTI_ERROR_NOT_COMPATIBLE = 14,
  KVET_CUPTI_ERROR_NOT_INITIALIZED = 15,
  KVET_CUPTI_ERROR_INVALID_KIND = 21,
  KVET_CUPTI_ERROR_NOT_SUPPORTED = 27,
  KVET_CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED = 33,
  KVET_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
  KVET_CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED = 36,
  KVET_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
  KVET_CUPTI_ERROR_UNKNOWN = 999,
};

enum kvet_cupti_activity_kind {  // CUpti_ActivityKind
  KVET_CUPTI_ACTIVITY_INVALID = 0,
  KVET_CUPTI_ACTIVITY_MEMCPY = 1,
  KVET_CUPTI_ACTIVITY_MEMSET = 2,
  KVET_CUPTI_ACTIVITY_KERNEL = 3,
  KVET_CUPTI_ACTIVITY_DRIVER = 4,
  KVET_CUPTI_ACTIVITY_RUNTIME = 5,
  KVET_CUPTI_ACTIVITY_DEVICE = 8,
  KVET_CUPTI_ACTIVITY_CONTEXT = 9,
  KVET_CUPTI_ACTIVITY_CONCURRENT_KERNEL = 10,
  KVET_CUPTI_ACTIVITY_NAME = 11,
  KVET_CUPTI_ACTIVITY_MARKER = 12,
  KVET_CUPTI_ACTIVITY_MARKER_DATA = 13,
  KVET_CUPTI_ACTIVITY_OVERHEAD = 17,
  KVET_CUPTI_ACTIVITY_MEMCPY2 = 22,  // peer to peer
  KVET_CUPTI_ACTIVITY_DEVICE_ATTRIBUTE = 28,
  KVET_CUPTI_ACTIVITY_STREAM = 37,
};

enum kvet_cupti_activity_attribute {  // CUpti_ActivityAttribute
  KVET_CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE = 0,
  KVET_CUPTI_ATTRIBUTE_DEVICE_BUFFER_POOL_LIMIT = 2,
  KVET_CUPTI_ATTRIBUTE_ZEROED_OUT_ACTIVITY_BUFFER = 5,
  KVET_CUPTI_ATTRIBUTE_DEVICE_BUFFER_PRE_ALLOCATE_VALUE = 6,
  KVET_CUPTI_ATTRIBUTE_PER_THREAD_ACTIVITY_BUFFER = 9,  // from version 21 (CUDA 12.3) on
};

enum { KVET_CUPTI_THREAD_ID_SYSTEM = 1 };  // CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM: gettid()
enum { KVET_CUPTI_FLUSH_FORCED = 1 };  // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
enum kvet_cupti_marker_flag {  // CUpti_ActivityFlag
  KVET_CUPTI_MARKER_INSTANTANEOUS = 1 << 0,
  KVET_CUPTI_MARKER_START = 1 << 1,
  KVET_CUPTI_MARKER_END = 1 << 2,
};
enum kvet_cupti_object_kind {  // CUpti_ActivityObjectKind
  KVET_CUPTI_OBJECT_UNKNOWN = 0,
  KVET_CUPTI_OBJECT_PROCESS = 1,
  KVET_CUPTI_OBJECT_THREAD = 2,
  KVET_CUPTI_OBJECT_DEVICE = 3,
  KVET_CUPTI_OBJECT_CONTEXT = 4,
  KVET_CUPTI_OBJECT_STREAM = 5,
};
enum kvet_cupti_copy_kind {  // CUpti_ActivityMemcpyKind; A: CUDA array
  KVET_CUPTI_COPY_UNKNOWN = 0,
  KVET_CUPTI_COPY_HTOD = 1,
  KVET_CUPTI_COPY_DTOH = 2,
  KVET_CUPTI_COPY_HTOA = 3,
  KVET_CUPTI_COPY_ATOH = 4,
  KVET_CUPTI_COPY_ATOA = 5,
  KVET_CUPTI_COPY_ATOD = 6,
  KVET_CUPTI_COPY_DTOA = 7,
  KVET_CUPTI_COPY_DTOD = 8,
  KVET_CUPTI_COPY_HTOH = 9,
  KVET_CUPTI_COPY_PTOP = 10,
};
enum kvet_cupti_launch_type {  // CUpti_ActivityLaunchType
  KVET_CUPTI_LAUNCH_REGULAR = 0,
  KVET_CUPTI_LAUNCH_COOPERATIVE_SINGLE_DEVICE = 1,
  KVET_CUPTI_LAUNCH_COOPERATIVE_MULTI_DEVICE = 2,
};
enum kvet_cupti_stream_flag {  // CUpti_ActivityStreamFlag
  KVET_CUPTI_STREAM_UNKNOWN = 0,
  KVET_CUPTI_STREAM_DEFAULT = 1,
  KVET_CUPTI_STREAM_NON_BLOCKING = 2,
  KVET_CUPTI_STREAM_NULL = 3,
};
enum kvet_cupti_compute_api {  // CUpti_ActivityComputeApiKind
  KVET_CUPTI_COMPUTE_API_UNKNOWN = 0,
  KVET_CUPTI_COMPUTE_API_CUDA = 1,
  KVET_CUPTI_COMPUTE_API_CUDA_MPS = 2,  // a client of the Multi-Process Service
};
enum kvet_cupti_overhead_kind {  // CUpti_ActivityOverheadKind
  KVET_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL = 6 << 16,
};

// CUPTI packs its records without padding and aligns each to 8 bytes.
#define KVET_CUPTI_RECORD __attribute__((packed, aligned(8)))

struct KVET_CUPTI_RECORD kvet_cupti_activity {  // CUpti_Activity: how every record begins
  uint32_t kind;
};

struct KVET_CUPTI_RECORD kvet_cupti_kernel {  // CUpti_ActivityKernel9; 10 appends isDeviceLaunched
  uint32_t kind;  // CONCURRENT_KERNEL
  uint8_t cache_config;
  uint8_t shared_memory_config;
  uint16_t registers_per_thread;
  uint32_t partitioned_global_cache_requested;
  uint32_t partitioned_global_cache_executed;
  uint64_t start;
  uint64_t end;
  uint64_t completed;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;
  int32_t grid[3];
  int32_t block[3];
  int32_t static_shared_memory;
  int32_t dynamic_shared_memory;
  uint32_t local_memory_per_thread;
  uint32_t local_memory_total;
  uint32_t correlation_id;
  int64_t grid_id;
  const char* name;
  void* reserved0;
  uint64_t queued;
  uint64_t submitted;
  uint8_t launch_type;
  uint8_t is_shared_memory_carveout_requested;
  uint8_t shared_memory_carveout_requested;
  uint8_t padding;
  uint32_t shared_memory_executed;
  uint64_t graph_node_id;
  uint32_t shared_memory_limit_config;
  uint32_t graph_id;
  void* access_policy_window;
  uint32_t channel_id;
  uint32_t channel_type;
  uint32_t cluster[3];
  uint32_t cluster_scheduling_policy;
  uint64_t local_memory_total_v2;
  uint32_t max_potential_cluster_size;
  uint32_t max_active_clusters;
};

struct KVET_CUPTI_RECORD kvet_cupti_api {  // CUpti_ActivityAPI: DRIVER and RUNTIME
  uint32_t kind;
  uint32_t callback_id;
  uint64_t start;
  uint64_t end;
  uint32_t process_id;
  uint32_t thread_id;
  uint32_t correlation_id;
  uint32_t return_value;
};

struct KVET_CUPTI_RECORD kvet_cupti_memcpy {  // CUpti_ActivityMemcpy5; 6 names the padding and appends copyCount
  uint32_t kind;  // MEMCPY
  uint8_t copy_kind;
  uint8_t source_kind;
  uint8_t destination_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;
  uint32_t correlation_id;
  uint32_t runtime_correlation_id;
  uint32_t padding;
  void* reserved0;
  uint64_t graph_node_id;
  uint32_t graph_id;
  uint32_t channel_id;
  uint32_t channel_type;
  uint32_t padding2;
};

struct KVET_CUPTI_RECORD kvet_cupti_memcpy_peer {  // CUpti_ActivityMemcpyPtoP4
  uint32_t kind;  // MEMCPY2
  uint8_t copy_kind;
  uint8_t source_kind;
  uint8_t destination_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;
  uint32_t source_device_id;
  uint32_t source_context_id;
  uint32_t destination_device_id;
  uint32_t destination_context_id;
  uint32_t correlation_id;
  void* reserved0;
  uint64_t graph_node_id;
  uint32_t graph_id;
  uint32_t channel_id;
  uint32_t channel_type;
};

struct KVET_CUPTI_RECORD kvet_cupti_memset {  // CUpti_ActivityMemset4
  uint32_t kind;  // MEMSET
  uint32_t value;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;
  uint32_t correlation_id;
  uint16_t flags;
  uint16_t memory_kind;
  uint32_t padding;
  void* reserved0;
  uint64_t graph_node_id;
  uint32_t graph_id;
  uint32_t channel_id;
  uint32_t channel_type;
  uint32_t padding2;
};

struct KVET_CUPTI_RECORD kvet_cupti_device {  // CUpti_ActivityDevice4; 5 appends isNumaNode, numaId
  uint32_t kind;  // DEVICE
  uint32_t flags;
  uint64_t global_memory_bandwidth;  // kbytes/s
  uint64_t global_memory_size;
  uint32_t constant_memory_size;
  uint32_t l2_cache_size;
  uint32_t threads_per_warp;
  uint32_t core_clock_rate;  // kHz
  uint32_t memcpy_engines;
  uint32_t multiprocessors;
  uint32_t max_ipc;
  uint32_t max_warps_per_multiprocessor;
  uint32_t max_blocks_per_multiprocessor;
  uint32_t max_shared_memory_per_multiprocessor;
  uint32_t max_registers_per_multiprocessor;
  uint32_t max_registers_per_block;
  uint32_t max_shared_memory_per_block;
  uint32_t max_threads_per_block;
  uint32_t max_block[3];
  uint32_t max_grid[3];
  uint32_t compute_capability_major;
  uint32_t compute_capability_minor;
  uint32_t id;
  uint32_t ecc_enabled;
  struct kvet_cuda_uuid uuid;
  const char* name;
  uint8_t is_cuda_visible;
  uint8_t is_mig_enabled;
  uint8_t reserved[6];
  uint32_t gpu_instance_id;
  uint32_t compute_instance_id;
  struct kvet_cuda_uuid mig_uuid;
};

struct KVET_CUPTI_RECORD kvet_cupti_context {  // CUpti_ActivityContext
  uint32_t kind;  // CONTEXT
  uint32_t context_id;
  uint32_t device_id;
  uint16_t compute_api_kind;
  uint16_t null_stream_id;
};
#define KVET_CUPTI_VERSION_GREEN_CONTEXT 22u  // CUDA 12.4
#define KVET_CUPTI_VERSION_GREEN_MULTIPROCESSORS 23u  // CUDA 12.5 gave the field its name; before, it is padding
struct KVET_CUPTI_RECORD kvet_cupti_context2 {  // CUpti_ActivityContext2; 3 appends cigMode
  struct kvet_cupti_context base;
  uint32_t parent_context_id;  // 0: none
  uint8_t is_green_context;
  uint8_t padding;
  uint16_t multiprocessors;  // of a green context
};

struct KVET_CUPTI_RECORD kvet_cupti_stream {  // CUpti_ActivityStream
  uint32_t kind;
  uint32_t context_id;
  uint32_t stream_id;
  uint32_t priority;
  uint32_t flag;
  uint32_t correlation_id;
};

struct kvet_cupti_object_id {  // CUpti_ActivityObjectKindId, a union: process and thread, or device, context, stream
  uint32_t process_or_device;
  uint32_t thread_or_context;
  uint32_t stream;
};

struct KVET_CUPTI_RECORD kvet_cupti_marker {  // CUpti_ActivityMarker2
  uint32_t kind;  // MARKER
  uint32_t flags;
  uint64_t timestamp;
  uint32_t id;  // the same in the start and the end of one range
  uint32_t object_kind;
  struct kvet_cupti_object_id object_id;
  uint32_t padding;
  const char* name;  // NULL in the end of a range
  const char* domain;
};

// From this version (CUDA 12.4) on overheads are CUpti_ActivityOverhead3 records, and a full command buffer is one of them.
#define KVET_CUPTI_VERSION_COMMAND_BUFFER_FULL 22u
struct KVET_CUPTI_RECORD kvet_cupti_overhead {  // CUpti_ActivityOverhead3
  uint32_t kind;
  uint32_t overhead_kind;
  uint32_t object_kind;
  struct kvet_cupti_object_id object_id;
  uint64_t start;
  uint64_t end;
  uint32_t correlation_id;  // of the API call that it is part of; may be 0
  uint32_t reserved;
  void* data;  // ours to free(), where there is one
};

// Functions, by the name that dlsym finds them under. CUPTIAPI is empty on Linux.
typedef uint64_t (*kvet_cupti_timestamp_function)(void);  // NOLINT(modernize-redundant-void-arg): C too
typedef void (*kvet_cupti_buffer_requested_function)(uint8_t** buffer, size_t* size, size_t* max_records);
typedef void (*kvet_cupti_buffer_completed_function)(kvet_cuda_context_t context, uint32_t stream, uint8_t* buffer,
                                                     size_t size, size_t valid_size);
typedef kvet_cupti_result (*kvet_cupti_get_version)(uint32_t* version);  // cuptiGetVersion
typedef kvet_cupti_result (*kvet_cupti_set_thread_id_type)(uint32_t type);  // cuptiSetThreadIdType
typedef kvet_cupti_result (*kvet_cupti_get_last_error)(void);  // NOLINT(modernize-redundant-void-arg): C too
typedef kvet_cupti_result (*kvet_cupti_activity_register_timestamp_callback)(kvet_cupti_timestamp_function function);
typedef kvet_cupti_result (*kvet_cupti_activity_register_callbacks)(kvet_cupti_buffer_requested_function requested,
                                                                    kvet_cupti_buffer_completed_function completed);
typedef kvet_cupti_result (*kvet_cupti_activity_enable)(uint32_t kind);  // cuptiActivityEnable
typedef kvet_cupti_result (*kvet_cupti_activity_disable)(uint32_t kind);  // cuptiActivityDisable
typedef kvet_cupti_result (*kvet_cupti_activity_enable_driver_api)(uint32_t callback_id, uint8_t enable);  // 12.5 on
typedef kvet_cupti_result (*kvet_cupti_activity_flush_all)(uint32_t flag);  // cuptiActivityFlushAll
typedef kvet_cupti_result (*kvet_cupti_activity_flush_period)(uint32_t milliseconds);  // cuptiActivityFlushPeriod
typedef kvet_cupti_result (*kvet_cupti_activity_set_attribute)(uint32_t attribute, size_t* value_size, void* value);
typedef kvet_cupti_result (*kvet_cupti_activity_get_attribute)(uint32_t attribute, size_t* value_size, void* value);
typedef kvet_cupti_result (*kvet_cupti_activity_get_next_record)(uint8_t* buffer, size_t valid_size,
                                                                 struct kvet_cupti_activity** record);
typedef kvet_cupti_result (*kvet_cupti_activity_get_num_dropped_records)(kvet_cuda_context_t context, uint32_t stream,
                                                                         size_t* dropped);
typedef kvet_cupti_result (*kvet_cupti_nvtx_initialize2)(void* get_export_table);  // cuptiNvtxInitialize2

#endif
