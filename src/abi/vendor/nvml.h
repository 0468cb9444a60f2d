// Our own declarations of what the counter sampler uses of NVML (libnvidia-ml.so.1), looked up at run time by name:
//
//   nvmlInit_v2  nvmlShutdown  nvmlSystemGetDriverVersion  nvmlDeviceGetCount_v2  nvmlDeviceGetHandleByIndex_v2
//   nvmlDeviceGetUUID  nvmlDeviceGetPowerUsage  nvmlDeviceGetEnforcedPowerLimit  nvmlDeviceGetClockInfo
//   nvmlDeviceGetTemperature  nvmlDeviceGetCurrentClocksThrottleReasons
//   optional: nvmlDeviceGetName  nvmlDeviceGetMemoryInfo  nvmlDeviceGetMigMode  nvmlGpmQueryDeviceSupport
//             nvmlGpmSampleAlloc  nvmlGpmSampleFree  nvmlGpmSampleGet  nvmlGpmMetricsGet
//             nvmlDeviceGetUtilizationRates  nvmlDeviceGetComputeRunningProcesses_v3
//
// Functions return nvmlReturn_t, an int; 0 is success. pm_check.cpp holds these declarations
// against nvml.h where it is found.
#ifndef KVET_ABI_VENDOR_NVML_H
#define KVET_ABI_VENDOR_NVML_H

#include <stdint.h>

typedef struct kvet_nvml_device_handle* kvet_nvml_device;
typedef struct kvet_nvml_gpm_sample_handle* kvet_nvml_gpm_sample;

enum kvet_nvml_clock { KVET_NVML_CLOCK_SM = 1, KVET_NVML_CLOCK_MEMORY = 2 };  // nvmlClockType_t
enum { KVET_NVML_TEMPERATURE_GPU = 0 };                                       // nvmlTemperatureSensors_t
enum { KVET_NVML_UUID_BYTES = 96, KVET_NVML_NAME_BYTES = 96, KVET_NVML_DRIVER_VERSION_BYTES = 80 };

// nvmlMemory_t
struct kvet_nvml_memory {
  unsigned long long total, free, used;
};

// nvmlUtilization_t: percent of the time since the last look (a sixth of a second to a second).
struct kvet_nvml_utilization {
  unsigned int gpu, memory;
};
// nvmlProcessInfo_v2_t, which nvmlDeviceGetComputeRunningProcesses_v3 fills.
struct kvet_nvml_process {
  unsigned int pid;
  unsigned long long used_bytes;
  unsigned int gpu_instance, compute_instance;
};
enum {  // nvmlReturn_t
  KVET_NVML_ERROR_INSUFFICIENT_SIZE = 7,
  KVET_NVML_ERROR_GPU_IS_LOST = 15,  // it fell off the bus, or cannot be reached otherwise
  KVET_NVML_ERROR_RESET_REQUIRED = 16,
};
enum kvet_nvml_clock_event_reason {  // nvmlClocksEventReasons, bits
  KVET_NVML_CLOCK_SOFTWARE_POWER_CAP = 0x04,
  KVET_NVML_CLOCK_HARDWARE_SLOWDOWN = 0x08,
  KVET_NVML_CLOCK_SOFTWARE_THERMAL = 0x20,
  KVET_NVML_CLOCK_HARDWARE_THERMAL = 0x40,
  KVET_NVML_CLOCK_POWER_BRAKE = 0x80,
};

// GPM: what a GPU did between two samples that lie at least 100 ms apart (nearer ones give zeros without an error).
enum kvet_nvml_gpm_metric_id {  // nvmlGpmMetricId_t; percentages
  KVET_NVML_GPM_SM_UTILIZATION = 2,
  KVET_NVML_GPM_SM_OCCUPANCY = 3,
  KVET_NVML_GPM_DRAM_BANDWIDTH = 10,
};
enum { KVET_NVML_GPM_SUPPORT_VERSION = 1, KVET_NVML_GPM_METRICS_VERSION = 1 };
struct kvet_nvml_gpm_support {  // nvmlGpmSupport_t
  unsigned int version;
  unsigned int supported;  // out
};
struct kvet_nvml_gpm_metric {  // nvmlGpmMetric_t
  unsigned int id;
  int result;
  double value;
  struct {
    char* short_name;
    char* long_name;
    char* unit;
  } info;
};
// nvmlGpmMetricsGet_t. The vendor's array grew from 98 to 333 entries over its versions without a change of `version`;
// the library touches only the first metric_count, and more room than it knows does no harm.
enum { KVET_NVML_GPM_METRIC_ROOM = 400 };
struct kvet_nvml_gpm_metrics {
  unsigned int version;
  unsigned int metric_count;
  kvet_nvml_gpm_sample first, second;
  struct kvet_nvml_gpm_metric metrics[KVET_NVML_GPM_METRIC_ROOM];
};

#endif
