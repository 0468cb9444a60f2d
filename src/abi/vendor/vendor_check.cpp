// Holds our own declarations of the driver and of CUPTI's activity and callback interfaces against NVIDIA's headers, where
// the machine has them. It has no code of its own.
#if __has_include(<cupti.h>) && __has_include(<cuda.h>)
#include <cupti.h>

#include <cstddef>
#include <type_traits>

// Sizes of pointers are compared on purpose, and names are pasted into enumerators, which parentheses would break.
// NOLINTBEGIN(bugprone-sizeof-expression, bugprone-macro-parentheses, misc-redundant-expression)
#include "abi/vendor/cuda_driver.h"
#include "abi/vendor/cupti_activity.h"
#include "abi/vendor/cupti_callbacks.h"
#include "abi/vendor/cupti_driver_callbacks.h"

#define SAME_VALUE(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs), #theirs)
#define SAME_FIELD(our_type, our_field, their_type, their_field)                                   \
  static_assert(offsetof(our_type, our_field) == offsetof(their_type, their_field), #their_field); \
  static_assert(sizeof(our_type::our_field) == sizeof(their_type::their_field), #their_field)
// Every layout that we read is a prefix: no field of ours lies beyond the end of theirs.
#define PREFIX(our_type, their_type) static_assert(sizeof(our_type) <= sizeof(their_type), #their_type)
// The version that was newest in CUDA 12.0 has exactly our size, where the headers still declare it.
#define EXACT(our_type, their_type) static_assert(sizeof(our_type) == sizeof(their_type), #their_type)

static_assert(CUPTI_API_VERSION >= KVET_CUPTI_VERSION_MINIMUM);
static_assert(std::is_same_v<uint32_t, CUpti_CallbackId>);

// ---- results and enumerations
SAME_VALUE(KVET_CUPTI_SUCCESS, CUPTI_SUCCESS);
SAME_VALUE(KVET_CUPTI_ERROR_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME_VALUE(KVET_CUPTI_ERROR_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
SAME_VALUE(KVET_CUPTI_ERROR_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME_VALUE(KVET_CUPTI_ERROR_NOT_READY, CUPTI_ERROR_NOT_READY);
SAME_VALUE(KVET_CUPTI_ERROR_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
SAME_VALUE(KVET_CUPTI_ERROR_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME_VALUE(KVET_CUPTI_ERROR_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
SAME_VALUE(KVET_CUPTI_ERROR_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME_VALUE(KVET_CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
SAME_VALUE(KVET_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME_VALUE(KVET_CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED, CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED);
SAME_VALUE(KVET_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME_VALUE(KVET_CUPTI_ERROR_UNKNOWN, CUPTI_ERROR_UNKNOWN);
static_assert(sizeof(kvet_cupti_result) == sizeof(CUptiResult));

SAME_VALUE(KVET_CUPTI_ACTIVITY_INVALID, CUPTI_ACTIVITY_KIND_INVALID);
SAME_VALUE(KVET_CUPTI_ACTIVITY_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME_VALUE(KVET_CUPTI_ACTIVITY_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME_VALUE(KVET_CUPTI_ACTIVITY_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME_VALUE(KVET_CUPTI_ACTIVITY_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
SAME_VALUE(KVET_CUPTI_ACTIVITY_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
SAME_VALUE(KVET_CUPTI_ACTIVITY_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
SAME_VALUE(KVET_CUPTI_ACTIVITY_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT);
SAME_VALUE(KVET_CUPTI_ACTIVITY_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME_VALUE(KVET_CUPTI_ACTIVITY_NAME, CUPTI_ACTIVITY_KIND_NAME);
SAME_VALUE(KVET_CUPTI_ACTIVITY_MARKER, CUPTI_ACTIVITY_KIND_MARKER);
SAME_VALUE(KVET_CUPTI_ACTIVITY_MARKER_DATA, CUPTI_ACTIVITY_KIND_MARKER_DATA);
SAME_VALUE(KVET_CUPTI_ACTIVITY_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
SAME_VALUE(KVET_CUPTI_ACTIVITY_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME_VALUE(KVET_CUPTI_ACTIVITY_DEVICE_ATTRIBUTE, CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE);
SAME_VALUE(KVET_CUPTI_ACTIVITY_STREAM, CUPTI_ACTIVITY_KIND_STREAM);
static_assert(sizeof(CUpti_ActivityKind) == 4);

SAME_VALUE(KVET_CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
SAME_VALUE(KVET_CUPTI_ATTRIBUTE_DEVICE_BUFFER_POOL_LIMIT, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
SAME_VALUE(KVET_CUPTI_ATTRIBUTE_ZEROED_OUT_ACTIVITY_BUFFER, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
SAME_VALUE(KVET_CUPTI_ATTRIBUTE_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE);
#if CUPTI_API_VERSION >= 21
SAME_VALUE(KVET_CUPTI_ATTRIBUTE_PER_THREAD_ACTIVITY_BUFFER, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
#endif
SAME_VALUE(KVET_CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
SAME_VALUE(KVET_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME_VALUE(KVET_CUPTI_MARKER_INSTANTANEOUS, CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS);
SAME_VALUE(KVET_CUPTI_MARKER_START, CUPTI_ACTIVITY_FLAG_MARKER_START);
SAME_VALUE(KVET_CUPTI_MARKER_END, CUPTI_ACTIVITY_FLAG_MARKER_END);
SAME_VALUE(KVET_CUPTI_OBJECT_UNKNOWN, CUPTI_ACTIVITY_OBJECT_UNKNOWN);
SAME_VALUE(KVET_CUPTI_OBJECT_PROCESS, CUPTI_ACTIVITY_OBJECT_PROCESS);
SAME_VALUE(KVET_CUPTI_OBJECT_THREAD, CUPTI_ACTIVITY_OBJECT_THREAD);
SAME_VALUE(KVET_CUPTI_OBJECT_DEVICE, CUPTI_ACTIVITY_OBJECT_DEVICE);
SAME_VALUE(KVET_CUPTI_OBJECT_CONTEXT, CUPTI_ACTIVITY_OBJECT_CONTEXT);
SAME_VALUE(KVET_CUPTI_OBJECT_STREAM, CUPTI_ACTIVITY_OBJECT_STREAM);
SAME_VALUE(KVET_CUPTI_COPY_UNKNOWN, CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN);
SAME_VALUE(KVET_CUPTI_COPY_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
SAME_VALUE(KVET_CUPTI_COPY_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
SAME_VALUE(KVET_CUPTI_COPY_HTOA, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
SAME_VALUE(KVET_CUPTI_COPY_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
SAME_VALUE(KVET_CUPTI_COPY_ATOA, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA);
SAME_VALUE(KVET_CUPTI_COPY_ATOD, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD);
SAME_VALUE(KVET_CUPTI_COPY_DTOA, CUPTI_ACTIVITY_MEMCPY_KIND_DTOA);
SAME_VALUE(KVET_CUPTI_COPY_DTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
SAME_VALUE(KVET_CUPTI_COPY_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
SAME_VALUE(KVET_CUPTI_COPY_PTOP, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
SAME_VALUE(KVET_CUPTI_LAUNCH_REGULAR, CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR);
SAME_VALUE(KVET_CUPTI_LAUNCH_COOPERATIVE_SINGLE_DEVICE, CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE);
SAME_VALUE(KVET_CUPTI_LAUNCH_COOPERATIVE_MULTI_DEVICE, CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE);
SAME_VALUE(KVET_CUPTI_STREAM_UNKNOWN, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN);
SAME_VALUE(KVET_CUPTI_STREAM_DEFAULT, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT);
SAME_VALUE(KVET_CUPTI_STREAM_NON_BLOCKING, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING);
SAME_VALUE(KVET_CUPTI_STREAM_NULL, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL);
SAME_VALUE(KVET_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL, CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL);

#define SAME_CALLBACK(name, id, kind) SAME_VALUE(KVET_CUPTI_DRIVER_##name, CUPTI_DRIVER_TRACE_CBID_##name);
#if CUPTI_API_VERSION >= 130000  // the newest ids are unknown to older headers
KVET_CUPTI_DRIVER_CALLBACKS(SAME_CALLBACK)
#endif

// ---- records
#if CUPTI_API_VERSION >= 130000
using Kernel = CUpti_ActivityKernel10;
using Memcpy = CUpti_ActivityMemcpy6;
#else
using Kernel = CUpti_ActivityKernel9;
using Memcpy = CUpti_ActivityMemcpy5;
#endif
EXACT(kvet_cupti_kernel, CUpti_ActivityKernel9);
PREFIX(kvet_cupti_kernel, Kernel);
#define KERNEL(ours, theirs)                                          \
  SAME_FIELD(kvet_cupti_kernel, ours, CUpti_ActivityKernel9, theirs); \
  SAME_FIELD(kvet_cupti_kernel, ours, Kernel, theirs)
KERNEL(kind, kind);
KERNEL(registers_per_thread, registersPerThread);
KERNEL(start, start);
KERNEL(end, end);
KERNEL(completed, completed);
KERNEL(device_id, deviceId);
KERNEL(context_id, contextId);
KERNEL(stream_id, streamId);
static_assert(offsetof(kvet_cupti_kernel, grid) == offsetof(Kernel, gridX));
static_assert(offsetof(kvet_cupti_kernel, grid) + 8 == offsetof(Kernel, gridZ));
static_assert(offsetof(kvet_cupti_kernel, block) == offsetof(Kernel, blockX));
static_assert(offsetof(kvet_cupti_kernel, block) + 8 == offsetof(Kernel, blockZ));
KERNEL(static_shared_memory, staticSharedMemory);
KERNEL(dynamic_shared_memory, dynamicSharedMemory);
KERNEL(local_memory_per_thread, localMemoryPerThread);
KERNEL(local_memory_total, localMemoryTotal);
KERNEL(correlation_id, correlationId);
KERNEL(grid_id, gridId);
KERNEL(name, name);
KERNEL(queued, queued);
KERNEL(submitted, submitted);
KERNEL(launch_type, launchType);
KERNEL(shared_memory_executed, sharedMemoryExecuted);
KERNEL(graph_node_id, graphNodeId);
KERNEL(shared_memory_limit_config, shmemLimitConfig);
KERNEL(graph_id, graphId);
KERNEL(access_policy_window, pAccessPolicyWindow);
KERNEL(channel_id, channelID);
KERNEL(channel_type, channelType);
static_assert(offsetof(kvet_cupti_kernel, cluster) == offsetof(Kernel, clusterX));
static_assert(offsetof(kvet_cupti_kernel, cluster) + 8 == offsetof(Kernel, clusterZ));
KERNEL(cluster_scheduling_policy, clusterSchedulingPolicy);
KERNEL(local_memory_total_v2, localMemoryTotal_v2);
KERNEL(max_potential_cluster_size, maxPotentialClusterSize);
KERNEL(max_active_clusters, maxActiveClusters);

EXACT(kvet_cupti_api, CUpti_ActivityAPI);
SAME_FIELD(kvet_cupti_api, kind, CUpti_ActivityAPI, kind);
SAME_FIELD(kvet_cupti_api, callback_id, CUpti_ActivityAPI, cbid);
SAME_FIELD(kvet_cupti_api, start, CUpti_ActivityAPI, start);
SAME_FIELD(kvet_cupti_api, end, CUpti_ActivityAPI, end);
SAME_FIELD(kvet_cupti_api, process_id, CUpti_ActivityAPI, processId);
SAME_FIELD(kvet_cupti_api, thread_id, CUpti_ActivityAPI, threadId);
SAME_FIELD(kvet_cupti_api, correlation_id, CUpti_ActivityAPI, correlationId);
SAME_FIELD(kvet_cupti_api, return_value, CUpti_ActivityAPI, returnValue);

EXACT(kvet_cupti_memcpy, CUpti_ActivityMemcpy5);
PREFIX(kvet_cupti_memcpy, Memcpy);
#define MEMCPY(ours, theirs)                                          \
  SAME_FIELD(kvet_cupti_memcpy, ours, CUpti_ActivityMemcpy5, theirs); \
  SAME_FIELD(kvet_cupti_memcpy, ours, Memcpy, theirs)
MEMCPY(kind, kind);
MEMCPY(copy_kind, copyKind);
MEMCPY(source_kind, srcKind);
MEMCPY(destination_kind, dstKind);
MEMCPY(flags, flags);
MEMCPY(bytes, bytes);
MEMCPY(start, start);
MEMCPY(end, end);
MEMCPY(device_id, deviceId);
MEMCPY(context_id, contextId);
MEMCPY(stream_id, streamId);
MEMCPY(correlation_id, correlationId);
MEMCPY(graph_node_id, graphNodeId);
MEMCPY(graph_id, graphId);
MEMCPY(channel_id, channelID);
MEMCPY(channel_type, channelType);

EXACT(kvet_cupti_memcpy_peer, CUpti_ActivityMemcpyPtoP4);
#define PEER(ours, theirs) SAME_FIELD(kvet_cupti_memcpy_peer, ours, CUpti_ActivityMemcpyPtoP4, theirs)
PEER(kind, kind);
PEER(copy_kind, copyKind);
PEER(bytes, bytes);
PEER(start, start);
PEER(end, end);
PEER(device_id, deviceId);
PEER(context_id, contextId);
PEER(stream_id, streamId);
PEER(source_device_id, srcDeviceId);
PEER(source_context_id, srcContextId);
PEER(destination_device_id, dstDeviceId);
PEER(destination_context_id, dstContextId);
PEER(correlation_id, correlationId);
PEER(graph_node_id, graphNodeId);
PEER(graph_id, graphId);

EXACT(kvet_cupti_memset, CUpti_ActivityMemset4);
#define MEMSET(ours, theirs) SAME_FIELD(kvet_cupti_memset, ours, CUpti_ActivityMemset4, theirs)
MEMSET(kind, kind);
MEMSET(value, value);
MEMSET(bytes, bytes);
MEMSET(start, start);
MEMSET(end, end);
MEMSET(device_id, deviceId);
MEMSET(context_id, contextId);
MEMSET(stream_id, streamId);
MEMSET(correlation_id, correlationId);
MEMSET(flags, flags);
MEMSET(memory_kind, memoryKind);
MEMSET(graph_node_id, graphNodeId);
MEMSET(graph_id, graphId);

EXACT(kvet_cupti_device, CUpti_ActivityDevice4);
PREFIX(kvet_cupti_device, CUpti_ActivityDevice5);
#define DEVICE(ours, theirs)                                          \
  SAME_FIELD(kvet_cupti_device, ours, CUpti_ActivityDevice4, theirs); \
  SAME_FIELD(kvet_cupti_device, ours, CUpti_ActivityDevice5, theirs)
DEVICE(kind, kind);
DEVICE(flags, flags);
DEVICE(global_memory_bandwidth, globalMemoryBandwidth);
DEVICE(global_memory_size, globalMemorySize);
DEVICE(constant_memory_size, constantMemorySize);
DEVICE(l2_cache_size, l2CacheSize);
DEVICE(threads_per_warp, numThreadsPerWarp);
DEVICE(core_clock_rate, coreClockRate);
DEVICE(memcpy_engines, numMemcpyEngines);
DEVICE(multiprocessors, numMultiprocessors);
DEVICE(max_ipc, maxIPC);
DEVICE(max_warps_per_multiprocessor, maxWarpsPerMultiprocessor);
DEVICE(max_blocks_per_multiprocessor, maxBlocksPerMultiprocessor);
DEVICE(max_shared_memory_per_multiprocessor, maxSharedMemoryPerMultiprocessor);
DEVICE(max_registers_per_multiprocessor, maxRegistersPerMultiprocessor);
DEVICE(max_registers_per_block, maxRegistersPerBlock);
DEVICE(max_shared_memory_per_block, maxSharedMemoryPerBlock);
DEVICE(max_threads_per_block, maxThreadsPerBlock);
static_assert(offsetof(kvet_cupti_device, max_block) == offsetof(CUpti_ActivityDevice5, maxBlockDimX));
static_assert(offsetof(kvet_cupti_device, max_grid) == offsetof(CUpti_ActivityDevice5, maxGridDimX));
DEVICE(compute_capability_major, computeCapabilityMajor);
DEVICE(compute_capability_minor, computeCapabilityMinor);
DEVICE(id, id);
DEVICE(ecc_enabled, eccEnabled);
DEVICE(uuid, uuid);
DEVICE(name, name);
DEVICE(is_cuda_visible, isCudaVisible);
DEVICE(is_mig_enabled, isMigEnabled);
DEVICE(gpu_instance_id, gpuInstanceId);
DEVICE(compute_instance_id, computeInstanceId);
DEVICE(mig_uuid, migUuid);

EXACT(kvet_cupti_context, CUpti_ActivityContext);
PREFIX(kvet_cupti_context, CUpti_ActivityContext3);
#define CONTEXT(ours, theirs)                                          \
  SAME_FIELD(kvet_cupti_context, ours, CUpti_ActivityContext, theirs); \
  SAME_FIELD(kvet_cupti_context, ours, CUpti_ActivityContext3, theirs)
CONTEXT(kind, kind);
CONTEXT(context_id, contextId);
CONTEXT(device_id, deviceId);
CONTEXT(compute_api_kind, computeApiKind);
CONTEXT(null_stream_id, nullStreamId);
EXACT(kvet_cupti_context2, CUpti_ActivityContext2);
PREFIX(kvet_cupti_context2, CUpti_ActivityContext3);
#define CONTEXT2(ours, theirs)                                           \
  SAME_FIELD(kvet_cupti_context2, ours, CUpti_ActivityContext2, theirs); \
  SAME_FIELD(kvet_cupti_context2, ours, CUpti_ActivityContext3, theirs)
CONTEXT2(parent_context_id, parentContextId);
CONTEXT2(is_green_context, isGreenContext);
CONTEXT2(multiprocessors, numMultiprocessors);
SAME_VALUE(KVET_CUPTI_COMPUTE_API_UNKNOWN, CUPTI_ACTIVITY_COMPUTE_API_UNKNOWN);
SAME_VALUE(KVET_CUPTI_COMPUTE_API_CUDA, CUPTI_ACTIVITY_COMPUTE_API_CUDA);
SAME_VALUE(KVET_CUPTI_COMPUTE_API_CUDA_MPS, CUPTI_ACTIVITY_COMPUTE_API_CUDA_MPS);

EXACT(kvet_cupti_stream, CUpti_ActivityStream);
SAME_FIELD(kvet_cupti_stream, kind, CUpti_ActivityStream, kind);
SAME_FIELD(kvet_cupti_stream, context_id, CUpti_ActivityStream, contextId);
SAME_FIELD(kvet_cupti_stream, stream_id, CUpti_ActivityStream, streamId);
SAME_FIELD(kvet_cupti_stream, priority, CUpti_ActivityStream, priority);
SAME_FIELD(kvet_cupti_stream, flag, CUpti_ActivityStream, flag);
SAME_FIELD(kvet_cupti_stream, correlation_id, CUpti_ActivityStream, correlationId);

EXACT(kvet_cupti_object_id, CUpti_ActivityObjectKindId);
SAME_FIELD(kvet_cupti_object_id, process_or_device, CUpti_ActivityObjectKindId, pt.processId);
SAME_FIELD(kvet_cupti_object_id, thread_or_context, CUpti_ActivityObjectKindId, pt.threadId);
SAME_FIELD(kvet_cupti_object_id, stream, CUpti_ActivityObjectKindId, dcs.streamId);

EXACT(kvet_cupti_marker, CUpti_ActivityMarker2);
SAME_FIELD(kvet_cupti_marker, kind, CUpti_ActivityMarker2, kind);
SAME_FIELD(kvet_cupti_marker, flags, CUpti_ActivityMarker2, flags);
SAME_FIELD(kvet_cupti_marker, timestamp, CUpti_ActivityMarker2, timestamp);
SAME_FIELD(kvet_cupti_marker, id, CUpti_ActivityMarker2, id);
SAME_FIELD(kvet_cupti_marker, object_kind, CUpti_ActivityMarker2, objectKind);
SAME_FIELD(kvet_cupti_marker, object_id, CUpti_ActivityMarker2, objectId);
SAME_FIELD(kvet_cupti_marker, name, CUpti_ActivityMarker2, name);
SAME_FIELD(kvet_cupti_marker, domain, CUpti_ActivityMarker2, domain);

EXACT(kvet_cupti_overhead, CUpti_ActivityOverhead3);
SAME_FIELD(kvet_cupti_overhead, overhead_kind, CUpti_ActivityOverhead3, overheadKind);
SAME_FIELD(kvet_cupti_overhead, object_id, CUpti_ActivityOverhead3, objectId);
SAME_FIELD(kvet_cupti_overhead, start, CUpti_ActivityOverhead3, start);
SAME_FIELD(kvet_cupti_overhead, end, CUpti_ActivityOverhead3, end);
SAME_FIELD(kvet_cupti_overhead, correlation_id, CUpti_ActivityOverhead3, correlationId);
SAME_FIELD(kvet_cupti_overhead, data, CUpti_ActivityOverhead3, overheadData);

// ---- callbacks
SAME_VALUE(KVET_CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME_VALUE(KVET_CUPTI_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME_VALUE(KVET_CUPTI_RESOURCE_MODULE_UNLOAD_STARTING, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
EXACT(kvet_cupti_resource_data, CUpti_ResourceData);
SAME_FIELD(kvet_cupti_resource_data, context, CUpti_ResourceData, context);
SAME_FIELD(kvet_cupti_resource_data, resource_descriptor, CUpti_ResourceData, resourceDescriptor);
EXACT(kvet_cupti_module_resource_data, CUpti_ModuleResourceData);
SAME_FIELD(kvet_cupti_module_resource_data, module_id, CUpti_ModuleResourceData, moduleId);
SAME_FIELD(kvet_cupti_module_resource_data, cubin_size, CUpti_ModuleResourceData, cubinSize);
SAME_FIELD(kvet_cupti_module_resource_data, cubin, CUpti_ModuleResourceData, pCubin);

// ---- the driver
SAME_VALUE(KVET_CUDA_SUCCESS, CUDA_SUCCESS);
SAME_VALUE(KVET_CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME_VALUE(KVET_CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME_VALUE(KVET_CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME_VALUE(KVET_CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME_VALUE(KVET_CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME_VALUE(KVET_CUDA_ERROR_DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME_VALUE(KVET_CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME_VALUE(KVET_CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME_VALUE(KVET_CUDA_ERROR_INVALID_PTX, CUDA_ERROR_INVALID_PTX);
SAME_VALUE(KVET_CUDA_ERROR_JIT_COMPILER_NOT_FOUND, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
SAME_VALUE(KVET_CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME_VALUE(KVET_CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME_VALUE(KVET_CUDA_ERROR_NOT_READY, CUDA_ERROR_NOT_READY);
SAME_VALUE(KVET_CUDA_COMPUTE_MODE, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
SAME_VALUE(KVET_CUDA_COMPUTE_MODE_DEFAULT, CU_COMPUTEMODE_DEFAULT);
SAME_VALUE(KVET_CUDA_COMPUTE_MODE_PROHIBITED, CU_COMPUTEMODE_PROHIBITED);
SAME_VALUE(KVET_CUDA_COMPUTE_MODE_EXCLUSIVE_PROCESS, CU_COMPUTEMODE_EXCLUSIVE_PROCESS);
SAME_VALUE(KVET_CUDA_CONTEXT_SCHEDULE_BLOCKING_SYNC, CU_CTX_SCHED_BLOCKING_SYNC);
SAME_VALUE(KVET_CUDA_HOST_ALLOCATE_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
SAME_VALUE(KVET_CUDA_HOST_ALLOCATE_DEVICE_MAPPED, CU_MEMHOSTALLOC_DEVICEMAP);
SAME_VALUE(KVET_CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME_VALUE(KVET_CUDA_EVENT_DEFAULT, CU_EVENT_DEFAULT);
EXACT(kvet_cuda_uuid, CUuuid);
EXACT(kvet_cuda_launch_config, CUlaunchConfig);
static_assert(offsetof(kvet_cuda_launch_config, grid) == offsetof(CUlaunchConfig, gridDimX));
static_assert(offsetof(kvet_cuda_launch_config, block) == offsetof(CUlaunchConfig, blockDimX));
SAME_FIELD(kvet_cuda_launch_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME_FIELD(kvet_cuda_launch_config, stream, CUlaunchConfig, hStream);
SAME_FIELD(kvet_cuda_launch_config, attributes, CUlaunchConfig, attrs);
SAME_FIELD(kvet_cuda_launch_config, attribute_count, CUlaunchConfig, numAttrs);
EXACT(kvet_cuda_launch_attribute, CUlaunchAttribute);
SAME_FIELD(kvet_cuda_launch_attribute, id, CUlaunchAttribute, id);
SAME_FIELD(kvet_cuda_launch_attribute, value, CUlaunchAttribute, value);
SAME_VALUE(KVET_CUDA_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME_VALUE(KVET_CUDA_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME_VALUE(KVET_CUDA_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
           CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);

// ---- function types: a call through ours is a call of theirs. Enumerations are passed as 32-bit integers.
template <class Ours, class Theirs>
constexpr bool same_arity = false;
template <class T>
constexpr size_t size_of = sizeof(T);
template <>
constexpr size_t size_of<void> = 0;
template <class R1, class... A1, class R2, class... A2>
constexpr bool same_arity<R1 (*)(A1...), R2 (*)(A2...)> =
    sizeof...(A1) == sizeof...(A2) && size_of<R1> == size_of<R2> && ((sizeof(A1) == sizeof(A2)) && ...);
#define SAME_FUNCTION(ours, theirs) static_assert(same_arity<ours, decltype(&theirs)>, #theirs)
SAME_FUNCTION(kvet_cupti_get_version, cuptiGetVersion);
SAME_FUNCTION(kvet_cupti_set_thread_id_type, cuptiSetThreadIdType);
SAME_FUNCTION(kvet_cupti_activity_register_timestamp_callback, cuptiActivityRegisterTimestampCallback);
SAME_FUNCTION(kvet_cupti_activity_register_callbacks, cuptiActivityRegisterCallbacks);
static_assert(same_arity<kvet_cupti_buffer_requested_function, CUpti_BuffersCallbackRequestFunc>);
static_assert(same_arity<kvet_cupti_buffer_completed_function, CUpti_BuffersCallbackCompleteFunc>);
SAME_FUNCTION(kvet_cupti_activity_enable, cuptiActivityEnable);
SAME_FUNCTION(kvet_cupti_activity_disable, cuptiActivityDisable);
#if CUPTI_API_VERSION >= 23
SAME_FUNCTION(kvet_cupti_activity_enable_driver_api, cuptiActivityEnableDriverApi);
#endif
SAME_FUNCTION(kvet_cupti_activity_flush_all, cuptiActivityFlushAll);
SAME_FUNCTION(kvet_cupti_activity_flush_period, cuptiActivityFlushPeriod);
SAME_FUNCTION(kvet_cupti_activity_set_attribute, cuptiActivitySetAttribute);
SAME_FUNCTION(kvet_cupti_activity_get_attribute, cuptiActivityGetAttribute);
SAME_FUNCTION(kvet_cupti_activity_get_next_record, cuptiActivityGetNextRecord);
SAME_FUNCTION(kvet_cupti_activity_get_num_dropped_records, cuptiActivityGetNumDroppedRecords);
SAME_FUNCTION(kvet_cupti_subscribe, cuptiSubscribe);
SAME_FUNCTION(kvet_cupti_unsubscribe, cuptiUnsubscribe);
SAME_FUNCTION(kvet_cupti_enable_callback, cuptiEnableCallback);
SAME_FUNCTION(kvet_cupti_get_last_error, cuptiGetLastError);

// NOLINTEND(bugprone-sizeof-expression, bugprone-macro-parentheses, misc-redundant-expression)

#endif
