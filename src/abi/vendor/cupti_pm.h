// Our own declarations of what the counter sampler uses of CUPTI's performance-monitor sampling and of the CUDA driver,
// so that no build needs NVIDIA's headers. Layouts follow the public headers of CUDA 12.6 and later (cupti_pmsampling.h,
// cupti_profiler_host.h, cupti_target.h, cuda.h); pm_check.cpp holds them against these headers where they
// are found. Everything is looked up at run time by name; the whole list:
//
//   libcuda.so.1   cuInit  cuDriverGetVersion  cuDeviceGetCount  cuDeviceGet  cuDeviceGetUuid_v2  cuDeviceGetName
//                  cuDeviceTotalMem_v2  cuDeviceGetAttribute
//   libcupti.so    cuptiProfilerInitialize  cuptiDeviceGetChipName
//                  cuptiPmSamplingGetCounterAvailability  cuptiPmSamplingEnable  cuptiPmSamplingDisable
//                  cuptiPmSamplingSetConfig  cuptiPmSamplingStart  cuptiPmSamplingStop  cuptiPmSamplingDecodeData
//                  cuptiPmSamplingGetCounterDataSize  cuptiPmSamplingCounterDataImageInitialize
//                  cuptiPmSamplingGetCounterDataInfo  cuptiPmSamplingCounterDataGetSampleInfo
//                  cuptiProfilerHostInitialize  cuptiProfilerHostDeinitialize  cuptiProfilerHostConfigAddMetrics
//                  cuptiProfilerHostGetConfigImageSize  cuptiProfilerHostGetConfigImage
//                  cuptiProfilerHostGetNumOfPasses  cuptiProfilerHostEvaluateToGpuValues
//
// Every CUPTI structure starts with its own size: KVET_PM_SIZE up to its last field, without the padding at its end.
#ifndef KVET_ABI_VENDOR_CUPTI_PM_H
#define KVET_ABI_VENDOR_CUPTI_PM_H

#include <stddef.h>
#include <stdint.h>

#include "abi/vendor/cuda_driver.h"

#ifdef __cplusplus
#define KVET_PM_SIZE(type, last) (offsetof(struct type, last) + sizeof(type::last))
#else
#define KVET_PM_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type*)0)->last))
#endif

// CUptiResult: the codes that have a sentence of their own.
enum kvet_pm_result {
  KVET_PM_SUCCESS = 0,
  KVET_PM_INVALID_PARAMETER = 1,
  KVET_PM_INVALID_DEVICE = 2,
  KVET_PM_INVALID_OPERATION = 7,
  KVET_PM_OUT_OF_MEMORY = 8,
  KVET_PM_HARDWARE = 9,
  KVET_PM_NOT_COMPATIBLE = 14,
  KVET_PM_NOT_INITIALIZED = 15,
  KVET_PM_INVALID_METRIC_NAME = 17,
  KVET_PM_HARDWARE_BUSY = 26,
  KVET_PM_NOT_SUPPORTED = 27,
  KVET_PM_VIRTUALIZED_DEVICE_NOT_SUPPORTED = 33,
  KVET_PM_INSUFFICIENT_PRIVILEGES = 35,
  KVET_PM_MULTIPLE_SUBSCRIBERS = 39,
  KVET_PM_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES = 40,
  KVET_PM_CONFIDENTIAL_COMPUTING = 41,
  KVET_PM_CMP_DEVICE = 42,
  KVET_PM_MIG_DEVICE = 43,
  KVET_PM_SLI_DEVICE = 44,
  KVET_PM_WSL_DEVICE = 45,
  KVET_PM_INVALID_CHIP_NAME = 46,
  KVET_PM_UNKNOWN = 999,
};

enum { KVET_PM_PROFILER_TYPE = 1 };  // CUpti_ProfilerType
enum kvet_pm_trigger {  // CUpti_PmSampling_TriggerMode
  KVET_PM_TRIGGER_SYSTEM_CLOCK = 0,  // interval in cycles of the system clock, which varies
  KVET_PM_TRIGGER_TIME = 1,  // interval in ns; not on Turing and GA100
};
enum kvet_pm_append { KVET_PM_KEEP_OLDEST = 0, KVET_PM_KEEP_LATEST = 1 };
enum kvet_pm_decode_stop {  // CUpti_PmSampling_DecodeStopReason
  KVET_PM_DECODE_OTHER = 0,
  KVET_PM_DECODE_IMAGE_FULL = 1,
  KVET_PM_DECODE_END_OF_RECORDS = 2,
};

struct kvet_pm_profiler_initialize {
  size_t struct_size;
  void* private_data;
};
struct kvet_pm_chip_name {
  size_t struct_size;
  void* private_data;
  size_t device_index;
  const char* chip_name;  // out
};

struct kvet_pm_counter_availability {
  size_t struct_size;
  void* private_data;
  size_t device_index;
  size_t image_size;  // out where image is NULL
  uint8_t* image;
};
struct kvet_pm_enable {
  size_t struct_size;
  void* private_data;
  size_t device_index;
  void* sampling;  // out
};
struct kvet_pm_object {  // Disable, Start and Stop take the same
  size_t struct_size;
  void* private_data;
  void* sampling;
};
struct kvet_pm_set_config {
  size_t struct_size;
  void* private_data;
  void* sampling;
  size_t config_size;
  const uint8_t* config;
  size_t hardware_buffer_size;
  uint64_t sampling_interval;
  uint32_t trigger;  // enum kvet_pm_trigger
  uint32_t append;  // enum kvet_pm_append
};
struct kvet_pm_decode {
  size_t struct_size;
  void* private_data;
  void* sampling;
  uint8_t* image;
  size_t image_size;
  uint32_t stop_reason;  // out: enum kvet_pm_decode_stop
  uint8_t overflow;  // out
};
struct kvet_pm_image_size {
  size_t struct_size;
  void* private_data;
  void* sampling;
  const char** metrics;
  size_t metric_count;
  uint32_t max_samples;
  size_t image_size;  // out
};
struct kvet_pm_image_initialize {
  size_t struct_size;
  void* private_data;
  void* sampling;
  size_t image_size;
  uint8_t* image;
};
struct kvet_pm_image_info {
  size_t struct_size;
  void* private_data;
  const uint8_t* image;
  size_t image_size;
  size_t total_samples;  // out
  size_t populated_samples;  // out
  size_t completed_samples;  // out
};
struct kvet_pm_sample_info {
  size_t struct_size;
  void* private_data;
  void* sampling;
  const uint8_t* image;
  size_t image_size;
  size_t index;
  uint64_t start_ns;  // out
  uint64_t end_ns;  // out
};

struct kvet_pm_host_initialize {
  size_t struct_size;
  void* private_data;
  uint32_t profiler_type;
  const char* chip_name;
  const uint8_t* counter_availability;
  void* host;  // out
};
struct kvet_pm_host_object {  // Deinitialize
  size_t struct_size;
  void* private_data;
  void* host;
};
struct kvet_pm_host_add_metrics {
  size_t struct_size;
  void* private_data;
  void* host;
  const char** metrics;
  size_t metric_count;
};
struct kvet_pm_host_config_size {
  size_t struct_size;
  void* private_data;
  void* host;
  size_t config_size;  // out
};
struct kvet_pm_host_config {
  size_t struct_size;
  void* private_data;
  void* host;
  size_t config_size;
  uint8_t* config;
};
struct kvet_pm_host_passes {
  size_t struct_size;
  void* private_data;
  size_t config_size;
  uint8_t* config;
  size_t passes;  // out
};
struct kvet_pm_host_evaluate {
  size_t struct_size;
  void* private_data;
  void* host;
  const uint8_t* image;
  size_t image_size;
  size_t index;
  const char** metrics;
  size_t metric_count;
  double* values;  // out
};

// Of the driver API, cuda_driver.h has what is needed: CUdevice is an int, CUresult 0 is success.

#endif
