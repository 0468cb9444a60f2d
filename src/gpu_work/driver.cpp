#include "gpu_work/driver.h"

#include <dlfcn.h>
#include <fmt/core.h>

namespace kvet::gpu_work {
namespace {

class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr && missing_ == nullptr) {
      missing_ = name;
    }
  }
  [[nodiscard]] const char* missing() const { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

}  // namespace

std::string Driver::describe(int result) const {
  const char* text = nullptr;
  if (get_error_string == nullptr || get_error_string(result, &text) != KVET_CUDA_SUCCESS || text == nullptr) {
    text = "unknown error";
  }
  return fmt::format("{} ({})", text, result);
}

Result<Driver> load_driver() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* message = ::dlerror();
    return fail(ErrorKind::unavailable,
                fmt::format("no NVIDIA driver here ({})", message == nullptr ? "unknown error" : message), {},
                "Work on a GPU needs the driver's libcuda.so.1");
  }
  Driver driver;
  Symbols symbols(library);
  symbols.find(driver.init, "cuInit");
  symbols.find(driver.get_version, "cuDriverGetVersion");
  symbols.find(driver.get_error_string, "cuGetErrorString");
  symbols.find(driver.device_get_count, "cuDeviceGetCount");
  symbols.find(driver.device_get, "cuDeviceGet");
  symbols.find(driver.device_get_uuid, "cuDeviceGetUuid_v2");
  symbols.find(driver.device_get_name, "cuDeviceGetName");
  symbols.find(driver.device_get_attribute, "cuDeviceGetAttribute");
  symbols.find(driver.context_create, "cuCtxCreate_v2");
  symbols.find(driver.context_destroy, "cuCtxDestroy_v2");
  symbols.find(driver.context_set_current, "cuCtxSetCurrent");
  symbols.find(driver.module_load, "cuModuleLoadData");
  symbols.find(driver.module_get_function, "cuModuleGetFunction");
  symbols.find(driver.memory_get_info, "cuMemGetInfo_v2");
  symbols.find(driver.memory_allocate, "cuMemAlloc_v2");
  symbols.find(driver.memory_free, "cuMemFree_v2");
  symbols.find(driver.host_allocate, "cuMemHostAlloc");
  symbols.find(driver.host_free, "cuMemFreeHost");
  symbols.find(driver.host_get_device_pointer, "cuMemHostGetDevicePointer_v2");
  symbols.find(driver.stream_create, "cuStreamCreate");
  symbols.find(driver.stream_destroy, "cuStreamDestroy_v2");
  symbols.find(driver.stream_query, "cuStreamQuery");
  symbols.find(driver.event_create, "cuEventCreate");
  symbols.find(driver.event_destroy, "cuEventDestroy_v2");
  symbols.find(driver.event_record, "cuEventRecord");
  symbols.find(driver.event_elapsed, "cuEventElapsedTime");
  symbols.find(driver.launch, "cuLaunchKernel");
  if (symbols.missing() != nullptr) {
    return fail(ErrorKind::unavailable, fmt::format("the NVIDIA driver is too old: it has no {}", symbols.missing()),
                "libcuda.so.1", "Work on a GPU needs a driver of CUDA 11.4 or later");
  }
  return driver;
}

}  // namespace kvet::gpu_work
