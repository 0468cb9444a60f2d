// Holds cupti_pm.h and nvml.h against NVIDIA's own headers where the machine has them. Nothing here runs.
#include <cstddef>
#include <type_traits>

#include "abi/vendor/cupti_pm.h"
#include "abi/vendor/nvml.h"

// The same size, and one field at the same place with the same size.
#define SAME_FIELD(ours, our_field, theirs, their_field)                                                      \
  static_assert(offsetof(struct ours, our_field) == offsetof(theirs, their_field), #theirs "." #their_field); \
  static_assert(sizeof(ours::our_field) == sizeof(theirs::their_field), #theirs "." #their_field)
#define SAME_STRUCT(ours, last, theirs)                          \
  static_assert(sizeof(struct ours) == sizeof(theirs), #theirs); \
  static_assert(KVET_PM_SIZE(ours, last) == theirs##_STRUCT_SIZE, #theirs "_STRUCT_SIZE")
#define SAME_VALUE(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs), #theirs)

#if __has_include(<cupti_pmsampling.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

SAME_STRUCT(kvet_pm_profiler_initialize, private_data, CUpti_Profiler_Initialize_Params);
SAME_STRUCT(kvet_pm_chip_name, chip_name, CUpti_Device_GetChipName_Params);
SAME_FIELD(kvet_pm_chip_name, device_index, CUpti_Device_GetChipName_Params, deviceIndex);

SAME_STRUCT(kvet_pm_counter_availability, image, CUpti_PmSampling_GetCounterAvailability_Params);
SAME_FIELD(kvet_pm_counter_availability, device_index, CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex);
SAME_FIELD(kvet_pm_counter_availability, image_size, CUpti_PmSampling_GetCounterAvailability_Params,
           counterAvailabilityImageSize);
SAME_STRUCT(kvet_pm_enable, sampling, CUpti_PmSampling_Enable_Params);
SAME_FIELD(kvet_pm_enable, device_index, CUpti_PmSampling_Enable_Params, deviceIndex);
SAME_STRUCT(kvet_pm_object, sampling, CUpti_PmSampling_Disable_Params);
SAME_STRUCT(kvet_pm_object, sampling, CUpti_PmSampling_Start_Params);
SAME_STRUCT(kvet_pm_object, sampling, CUpti_PmSampling_Stop_Params);
SAME_STRUCT(kvet_pm_set_config, append, CUpti_PmSampling_SetConfig_Params);
SAME_FIELD(kvet_pm_set_config, config, CUpti_PmSampling_SetConfig_Params, pConfig);
SAME_FIELD(kvet_pm_set_config, hardware_buffer_size, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
SAME_FIELD(kvet_pm_set_config, sampling_interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
SAME_FIELD(kvet_pm_set_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
SAME_STRUCT(kvet_pm_decode, overflow, CUpti_PmSampling_DecodeData_Params);
SAME_FIELD(kvet_pm_decode, image, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
SAME_FIELD(kvet_pm_decode, stop_reason, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
SAME_STRUCT(kvet_pm_image_size, image_size, CUpti_PmSampling_GetCounterDataSize_Params);
SAME_FIELD(kvet_pm_image_size, metric_count, CUpti_PmSampling_GetCounterDataSize_Params, numMetrics);
SAME_FIELD(kvet_pm_image_size, max_samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
SAME_STRUCT(kvet_pm_image_initialize, image, CUpti_PmSampling_CounterDataImage_Initialize_Params);
SAME_FIELD(kvet_pm_image_initialize, image_size, CUpti_PmSampling_CounterDataImage_Initialize_Params, counterDataSize);
SAME_STRUCT(kvet_pm_image_info, completed_samples, CUpti_PmSampling_GetCounterDataInfo_Params);
SAME_FIELD(kvet_pm_image_info, total_samples, CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples);
SAME_FIELD(kvet_pm_image_info, populated_samples, CUpti_PmSampling_GetCounterDataInfo_Params, numPopulatedSamples);
SAME_STRUCT(kvet_pm_sample_info, end_ns, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
SAME_FIELD(kvet_pm_sample_info, index, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
SAME_FIELD(kvet_pm_sample_info, start_ns, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);

SAME_STRUCT(kvet_pm_host_initialize, host, CUpti_Profiler_Host_Initialize_Params);
SAME_FIELD(kvet_pm_host_initialize, profiler_type, CUpti_Profiler_Host_Initialize_Params, profilerType);
SAME_FIELD(kvet_pm_host_initialize, chip_name, CUpti_Profiler_Host_Initialize_Params, pChipName);
SAME_FIELD(kvet_pm_host_initialize, counter_availability, CUpti_Profiler_Host_Initialize_Params,
           pCounterAvailabilityImage);
SAME_STRUCT(kvet_pm_host_object, host, CUpti_Profiler_Host_Deinitialize_Params);
SAME_STRUCT(kvet_pm_host_add_metrics, metric_count, CUpti_Profiler_Host_ConfigAddMetrics_Params);
SAME_FIELD(kvet_pm_host_add_metrics, metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
SAME_STRUCT(kvet_pm_host_config_size, config_size, CUpti_Profiler_Host_GetConfigImageSize_Params);
SAME_STRUCT(kvet_pm_host_config, config, CUpti_Profiler_Host_GetConfigImage_Params);
SAME_STRUCT(kvet_pm_host_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params);
SAME_FIELD(kvet_pm_host_passes, config, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
SAME_STRUCT(kvet_pm_host_evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
SAME_FIELD(kvet_pm_host_evaluate, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
SAME_FIELD(kvet_pm_host_evaluate, index, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME_FIELD(kvet_pm_host_evaluate, metrics, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);

SAME_VALUE(KVET_PM_PROFILER_TYPE, CUPTI_PROFILER_TYPE_PM_SAMPLING);
SAME_VALUE(KVET_PM_TRIGGER_SYSTEM_CLOCK, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
SAME_VALUE(KVET_PM_TRIGGER_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
SAME_VALUE(KVET_PM_KEEP_OLDEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
SAME_VALUE(KVET_PM_DECODE_IMAGE_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
SAME_VALUE(KVET_PM_DECODE_END_OF_RECORDS, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS);
SAME_VALUE(KVET_PM_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME_VALUE(KVET_PM_INVALID_DEVICE, CUPTI_ERROR_INVALID_DEVICE);
SAME_VALUE(KVET_PM_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
SAME_VALUE(KVET_PM_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
SAME_VALUE(KVET_PM_HARDWARE, CUPTI_ERROR_HARDWARE);
SAME_VALUE(KVET_PM_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
SAME_VALUE(KVET_PM_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME_VALUE(KVET_PM_INVALID_METRIC_NAME, CUPTI_ERROR_INVALID_METRIC_NAME);
SAME_VALUE(KVET_PM_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
SAME_VALUE(KVET_PM_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME_VALUE(KVET_PM_VIRTUALIZED_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
SAME_VALUE(KVET_PM_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME_VALUE(KVET_PM_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME_VALUE(KVET_PM_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME_VALUE(KVET_PM_CONFIDENTIAL_COMPUTING, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
SAME_VALUE(KVET_PM_CMP_DEVICE, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED);
SAME_VALUE(KVET_PM_MIG_DEVICE, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
SAME_VALUE(KVET_PM_SLI_DEVICE, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED);
SAME_VALUE(KVET_PM_WSL_DEVICE, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
SAME_VALUE(KVET_PM_INVALID_CHIP_NAME, CUPTI_ERROR_INVALID_CHIP_NAME);
SAME_VALUE(KVET_PM_UNKNOWN, CUPTI_ERROR_UNKNOWN);

static_assert(std::is_same_v<CUdevice, int>);
SAME_VALUE(KVET_CUDA_WARP_SIZE, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME_VALUE(KVET_CUDA_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_VALUE(KVET_CUDA_MEMORY_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME_VALUE(KVET_CUDA_MEMORY_BUS_BITS, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME_VALUE(KVET_CUDA_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME_VALUE(KVET_CUDA_MAX_THREADS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME_VALUE(KVET_CUDA_COMPUTE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_VALUE(KVET_CUDA_COMPUTE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_VALUE(KVET_CUDA_MAX_SHARED_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME_VALUE(KVET_CUDA_MAX_REGISTERS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME_VALUE(KVET_CUDA_MAX_SHARED_PER_BLOCK_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME_VALUE(KVET_CUDA_MAX_BLOCKS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
#endif

#if __has_include(<nvml.h>)
#include <nvml.h>

SAME_VALUE(KVET_NVML_CLOCK_SM, NVML_CLOCK_SM);
SAME_VALUE(KVET_NVML_CLOCK_MEMORY, NVML_CLOCK_MEM);
SAME_VALUE(KVET_NVML_TEMPERATURE_GPU, NVML_TEMPERATURE_GPU);
SAME_VALUE(KVET_NVML_UUID_BYTES, NVML_DEVICE_UUID_V2_BUFFER_SIZE);
SAME_VALUE(KVET_NVML_NAME_BYTES, NVML_DEVICE_NAME_V2_BUFFER_SIZE);
SAME_VALUE(KVET_NVML_DRIVER_VERSION_BYTES, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE);
static_assert(sizeof(kvet_nvml_memory) == sizeof(nvmlMemory_t));
SAME_FIELD(kvet_nvml_memory, used, nvmlMemory_t, used);
SAME_VALUE(KVET_NVML_GPM_SM_UTILIZATION, NVML_GPM_METRIC_SM_UTIL);
SAME_VALUE(KVET_NVML_GPM_SM_OCCUPANCY, NVML_GPM_METRIC_SM_OCCUPANCY);
SAME_VALUE(KVET_NVML_GPM_DRAM_BANDWIDTH, NVML_GPM_METRIC_DRAM_BW_UTIL);
SAME_VALUE(KVET_NVML_GPM_SUPPORT_VERSION, NVML_GPM_SUPPORT_VERSION);
SAME_VALUE(KVET_NVML_GPM_METRICS_VERSION, NVML_GPM_METRICS_GET_VERSION);
SAME_VALUE(KVET_NVML_ERROR_INSUFFICIENT_SIZE, NVML_ERROR_INSUFFICIENT_SIZE);
SAME_VALUE(KVET_NVML_ERROR_GPU_IS_LOST, NVML_ERROR_GPU_IS_LOST);
SAME_VALUE(KVET_NVML_ERROR_RESET_REQUIRED, NVML_ERROR_RESET_REQUIRED);
SAME_VALUE(KVET_NVML_CLOCK_SOFTWARE_POWER_CAP, nvmlClocksThrottleReasonSwPowerCap);
SAME_VALUE(KVET_NVML_CLOCK_HARDWARE_SLOWDOWN, nvmlClocksThrottleReasonHwSlowdown);
SAME_VALUE(KVET_NVML_CLOCK_SOFTWARE_THERMAL, nvmlClocksThrottleReasonSwThermalSlowdown);
SAME_VALUE(KVET_NVML_CLOCK_HARDWARE_THERMAL, nvmlClocksThrottleReasonHwThermalSlowdown);
SAME_VALUE(KVET_NVML_CLOCK_POWER_BRAKE, nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
static_assert(sizeof(kvet_nvml_utilization) == sizeof(nvmlUtilization_t));
static_assert(sizeof(kvet_nvml_process) == sizeof(nvmlProcessInfo_v2_t));
static_assert(sizeof(kvet_nvml_gpm_support) == sizeof(nvmlGpmSupport_t));
SAME_FIELD(kvet_nvml_gpm_support, supported, nvmlGpmSupport_t, isSupportedDevice);
static_assert(sizeof(kvet_nvml_gpm_metric) == sizeof(nvmlGpmMetric_t));
SAME_FIELD(kvet_nvml_gpm_metric, value, nvmlGpmMetric_t, value);
static_assert(sizeof(kvet_nvml_gpm_metrics) >= sizeof(nvmlGpmMetricsGet_t), "room for the vendor's array");
static_assert(offsetof(kvet_nvml_gpm_metrics, metrics) == offsetof(nvmlGpmMetricsGet_t, metrics));
static_assert(offsetof(kvet_nvml_gpm_metrics, first) == offsetof(nvmlGpmMetricsGet_t, sample1));
#endif
