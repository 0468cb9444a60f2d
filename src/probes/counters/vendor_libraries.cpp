#include "probes/counters/vendor_libraries.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <glob.h>
#include <sys/stat.h>

#include <cstdlib>

namespace kvet::probes {
namespace {

// Symbols of one open library; remembers the first that was missing.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}
  template <class Function>
  void required(Function& function, const char* name) {
    optional(function, name);
    if (function == nullptr && missing_ == nullptr) {
      missing_ = name;
    }
  }
  template <class Function>
  void optional(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
  }
  [[nodiscard]] const char* missing() const { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

std::string loader_message() {
  const char* message = ::dlerror();
  return message == nullptr ? "unknown error" : message;
}

// Libraries stay open until the process ends: their threads may outlive any handle of ours.
void* open_library(const std::string& name) { return ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); }

const char* find_pm_symbols(void* handle, PmLibrary& library) {
  Symbols symbols(handle);
  symbols.required(library.profiler_initialize, "cuptiProfilerInitialize");
  symbols.required(library.device_get_chip_name, "cuptiDeviceGetChipName");
  symbols.required(library.get_counter_availability, "cuptiPmSamplingGetCounterAvailability");
  symbols.required(library.enable, "cuptiPmSamplingEnable");
  symbols.required(library.disable, "cuptiPmSamplingDisable");
  symbols.required(library.set_config, "cuptiPmSamplingSetConfig");
  symbols.required(library.start, "cuptiPmSamplingStart");
  symbols.required(library.stop, "cuptiPmSamplingStop");
  symbols.required(library.decode, "cuptiPmSamplingDecodeData");
  symbols.required(library.get_image_size, "cuptiPmSamplingGetCounterDataSize");
  symbols.required(library.image_initialize, "cuptiPmSamplingCounterDataImageInitialize");
  symbols.required(library.get_image_info, "cuptiPmSamplingGetCounterDataInfo");
  symbols.required(library.get_sample_info, "cuptiPmSamplingCounterDataGetSampleInfo");
  symbols.required(library.host_initialize, "cuptiProfilerHostInitialize");
  symbols.required(library.host_deinitialize, "cuptiProfilerHostDeinitialize");
  symbols.required(library.host_add_metrics, "cuptiProfilerHostConfigAddMetrics");
  symbols.required(library.host_get_config_size, "cuptiProfilerHostGetConfigImageSize");
  symbols.required(library.host_get_config, "cuptiProfilerHostGetConfigImage");
  symbols.required(library.host_get_passes, "cuptiProfilerHostGetNumOfPasses");
  symbols.required(library.host_evaluate, "cuptiProfilerHostEvaluateToGpuValues");
  return symbols.missing();
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}
bool is_folder(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

constexpr const char* cupti_names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

// A folder stands for the libraries in it.
void add_place(std::vector<std::string>& files, const std::string& place) {
  if (!is_folder(place)) {
    files.push_back(place);
    return;
  }
  for (const char* name : cupti_names) {
    if (const std::string file = place + "/" + name; exists(file)) {
      files.push_back(file);
    }
  }
}

std::vector<std::string> cupti_candidates(const std::vector<std::string>& more_paths) {
  std::vector<std::string> files;
  if (const char* chosen = std::getenv("KVET_CUPTI_PATH"); chosen != nullptr && *chosen != '\0') {
    add_place(files, chosen);
    if (files.empty()) {
      files.emplace_back(chosen);  // an empty folder: the loader's message will name it
    }
    return files;
  }
  for (const char* name : cupti_names) {
    files.emplace_back(name);
  }
  for (const char* pattern :
       {"/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda-*/lib64",
        "/usr/local/cuda-*/extras/CUPTI/lib64", "/opt/cuda/lib64", "/opt/cuda/extras/CUPTI/lib64"}) {
    glob_t found{};
    if (::glob(pattern, 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) {
        add_place(files, found.gl_pathv[i]);
      }
    }
    ::globfree(&found);
  }
  for (const std::string& path : more_paths) {
    add_place(files, path);
  }
  return files;
}

}  // namespace

Result<CudaLibrary> load_cuda() {
  void* handle = open_library("libcuda.so.1");
  if (handle == nullptr) {
    return fail(ErrorKind::unavailable, "no NVIDIA driver here (" + loader_message() + ")", {},
                "Counters need the driver's libcuda.so.1");
  }
  CudaLibrary library;
  Symbols symbols(handle);
  symbols.required(library.init, "cuInit");
  symbols.required(library.driver_get_version, "cuDriverGetVersion");
  symbols.required(library.device_get_count, "cuDeviceGetCount");
  symbols.required(library.device_get, "cuDeviceGet");
  symbols.required(library.device_get_uuid, "cuDeviceGetUuid_v2");
  symbols.required(library.device_get_name, "cuDeviceGetName");
  symbols.required(library.device_total_memory, "cuDeviceTotalMem_v2");
  symbols.required(library.device_get_attribute, "cuDeviceGetAttribute");
  if (symbols.missing() != nullptr) {
    return fail(ErrorKind::unavailable, fmt::format("the NVIDIA driver is too old: {} is missing", symbols.missing()),
                "libcuda.so.1", "Counters need a driver of CUDA 12.6 or later");
  }
  return library;
}

Result<PmLibrary> load_pm(const std::vector<std::string>& more_paths) {
  std::string too_old;  // a library was found, but is without performance-monitor sampling
  std::string broken;   // a file was found, but could not be loaded
  for (const std::string& file : cupti_candidates(more_paths)) {
    void* handle = open_library(file);
    if (handle == nullptr) {
      const std::string message = loader_message();
      if (file.find('/') != std::string::npos && broken.empty()) {
        broken = message;
      }
      continue;
    }
    PmLibrary library;
    if (const char* missing = find_pm_symbols(handle, library)) {
      if (too_old.empty()) {
        too_old = fmt::format("{} has no {}", file, missing);
      }
      ::dlclose(handle);
      continue;
    }
    library.path = file;
    return library;
  }
  if (!too_old.empty()) {
    return fail(ErrorKind::unavailable, "the libcupti found is too old for performance-monitor sampling: " + too_old,
                {}, "Install CUPTI of CUDA 12.6 or later, or name one in KVET_CUPTI_PATH");
  }
  if (!broken.empty()) {
    return fail(ErrorKind::unavailable, "libcupti cannot be loaded: " + broken, {},
                "Name one that can be in KVET_CUPTI_PATH");
  }
  return fail(ErrorKind::unavailable, "no libcupti found", {},
              "Install CUPTI (cuda-cupti of the CUDA toolkit, or the Python package nvidia-cuda-cupti), or name it in "
              "KVET_CUPTI_PATH");
}

Result<NvmlLibrary> load_nvml() {
  void* handle = open_library("libnvidia-ml.so.1");
  if (handle == nullptr) {
    return fail(ErrorKind::unavailable, "no NVML here (" + loader_message() + ")");
  }
  NvmlLibrary library;
  Symbols symbols(handle);
  symbols.required(library.init, "nvmlInit_v2");
  symbols.required(library.shutdown, "nvmlShutdown");
  symbols.required(library.get_driver_version, "nvmlSystemGetDriverVersion");
  symbols.required(library.get_count, "nvmlDeviceGetCount_v2");
  symbols.required(library.get_handle, "nvmlDeviceGetHandleByIndex_v2");
  symbols.required(library.get_uuid, "nvmlDeviceGetUUID");
  symbols.required(library.get_power, "nvmlDeviceGetPowerUsage");
  symbols.required(library.get_power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  symbols.required(library.get_clock, "nvmlDeviceGetClockInfo");
  symbols.required(library.get_temperature, "nvmlDeviceGetTemperature");
  symbols.required(library.get_throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  if (symbols.missing() != nullptr) {
    return fail(ErrorKind::unavailable, fmt::format("NVML has no {}", symbols.missing()), "libnvidia-ml.so.1");
  }
  symbols.optional(library.get_name, "nvmlDeviceGetName");
  symbols.optional(library.get_memory, "nvmlDeviceGetMemoryInfo");
  symbols.optional(library.get_mig_mode, "nvmlDeviceGetMigMode");
  symbols.optional(library.get_utilization, "nvmlDeviceGetUtilizationRates");
  symbols.optional(library.get_compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  symbols.optional(library.gpm_support, "nvmlGpmQueryDeviceSupport");
  symbols.optional(library.gpm_allocate, "nvmlGpmSampleAlloc");
  symbols.optional(library.gpm_free, "nvmlGpmSampleFree");
  symbols.optional(library.gpm_get, "nvmlGpmSampleGet");
  symbols.optional(library.gpm_metrics, "nvmlGpmMetricsGet");
  return library;
}

}  // namespace kvet::probes
