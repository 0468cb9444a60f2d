// NVIDIA's libraries, opened at run time in the sampler process. Nothing here makes a CUDA context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "abi/vendor/cupti_pm.h"
#include "abi/vendor/nvml.h"
#include "base/result.h"

namespace kvet::probes {

// libcuda.so.1. Functions return CUresult; 0 is success.
struct CudaLibrary {
  int (*init)(unsigned int flags) = nullptr;
  int (*driver_get_version)(int* version) = nullptr;
  int (*device_get_count)(int* count) = nullptr;
  int (*device_get)(int* device, int ordinal) = nullptr;
  int (*device_get_uuid)(kvet_cuda_uuid* uuid, int device) = nullptr;
  int (*device_get_name)(char* name, int length, int device) = nullptr;
  int (*device_total_memory)(size_t* bytes, int device) = nullptr;
  int (*device_get_attribute)(int* value, int attribute, int device) = nullptr;
};
Result<CudaLibrary> load_cuda();

// libcupti. Functions return CUptiResult.
struct PmLibrary {
  std::string path;  // where it was found, for messages
  int (*profiler_initialize)(kvet_pm_profiler_initialize*) = nullptr;
  int (*device_get_chip_name)(kvet_pm_chip_name*) = nullptr;
  int (*get_counter_availability)(kvet_pm_counter_availability*) = nullptr;
  int (*enable)(kvet_pm_enable*) = nullptr;
  int (*disable)(kvet_pm_object*) = nullptr;
  int (*set_config)(kvet_pm_set_config*) = nullptr;
  int (*start)(kvet_pm_object*) = nullptr;
  int (*stop)(kvet_pm_object*) = nullptr;
  int (*decode)(kvet_pm_decode*) = nullptr;
  int (*get_image_size)(kvet_pm_image_size*) = nullptr;
  int (*image_initialize)(kvet_pm_image_initialize*) = nullptr;
  int (*get_image_info)(kvet_pm_image_info*) = nullptr;
  int (*get_sample_info)(kvet_pm_sample_info*) = nullptr;
  int (*host_initialize)(kvet_pm_host_initialize*) = nullptr;
  int (*host_deinitialize)(kvet_pm_host_object*) = nullptr;
  int (*host_add_metrics)(kvet_pm_host_add_metrics*) = nullptr;
  int (*host_get_config_size)(kvet_pm_host_config_size*) = nullptr;
  int (*host_get_config)(kvet_pm_host_config*) = nullptr;
  int (*host_get_passes)(kvet_pm_host_passes*) = nullptr;
  int (*host_evaluate)(kvet_pm_host_evaluate*) = nullptr;
};
// Looks in $KVET_CUPTI_PATH (a file or a folder; then nowhere else), the loader's own search, CUDA's usual folders, and
// `more_paths`; the first library that has every function wins. The error says what was found and why it did not do.
Result<PmLibrary> load_pm(const std::vector<std::string>& more_paths);

// libnvidia-ml.so.1. Functions return nvmlReturn_t; the optional ones may be null.
struct NvmlLibrary {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*get_driver_version)(char* version, unsigned int length) = nullptr;
  int (*get_count)(unsigned int* count) = nullptr;
  int (*get_handle)(unsigned int index, kvet_nvml_device* device) = nullptr;
  int (*get_uuid)(kvet_nvml_device, char* uuid, unsigned int length) = nullptr;
  int (*get_power)(kvet_nvml_device, unsigned int* milliwatts) = nullptr;
  int (*get_power_limit)(kvet_nvml_device, unsigned int* milliwatts) = nullptr;
  int (*get_clock)(kvet_nvml_device, int clock, unsigned int* mhz) = nullptr;
  int (*get_temperature)(kvet_nvml_device, int sensor, unsigned int* celsius) = nullptr;
  int (*get_throttle_reasons)(kvet_nvml_device, unsigned long long* reasons) = nullptr;
  // Optional.
  int (*get_name)(kvet_nvml_device, char* name, unsigned int length) = nullptr;
  int (*get_memory)(kvet_nvml_device, kvet_nvml_memory* memory) = nullptr;
  int (*get_mig_mode)(kvet_nvml_device, unsigned int* current, unsigned int* pending) = nullptr;
  int (*get_utilization)(kvet_nvml_device, kvet_nvml_utilization* utilization) = nullptr;
  int (*get_compute_processes)(kvet_nvml_device, unsigned int* count, kvet_nvml_process* processes) = nullptr;
  int (*gpm_support)(kvet_nvml_device, kvet_nvml_gpm_support* support) = nullptr;
  int (*gpm_allocate)(kvet_nvml_gpm_sample* sample) = nullptr;
  int (*gpm_free)(kvet_nvml_gpm_sample sample) = nullptr;
  int (*gpm_get)(kvet_nvml_device, kvet_nvml_gpm_sample sample) = nullptr;
  int (*gpm_metrics)(kvet_nvml_gpm_metrics* metrics) = nullptr;
};
Result<NvmlLibrary> load_nvml();

}  // namespace kvet::probes
