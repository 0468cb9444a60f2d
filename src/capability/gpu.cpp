#include "capability/gpu.h"

#include <dlfcn.h>

#include <array>

#include "abi/vendor/nvml.h"
#include "base/text.h"

namespace kvet::capability {

namespace {

bool digit(char character) { return character >= '0' && character <= '9'; }

// Where there is no /proc/driver/nvidia (WSL, some sandboxes). Functions return nvmlReturn_t; 0 is success.
void ask_nvml(Driver& driver) {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return;
  }
  auto function = [library]<class Pointer>(Pointer& pointer, const char* name) {
    pointer = reinterpret_cast<Pointer>(::dlsym(library, name));
    return pointer != nullptr;
  };
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*version)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, kvet_nvml_device*) = nullptr;
  int (*model)(kvet_nvml_device, char*, unsigned) = nullptr;
  int (*uuid)(kvet_nvml_device, char*, unsigned) = nullptr;
  // The library stays loaded: it may have started threads.
  if (!function(init, "nvmlInit_v2") || !function(shutdown, "nvmlShutdown") ||
      !function(version, "nvmlSystemGetDriverVersion") || !function(count, "nvmlDeviceGetCount_v2") ||
      !function(handle, "nvmlDeviceGetHandleByIndex_v2") || !function(model, "nvmlDeviceGetName") ||
      !function(uuid, "nvmlDeviceGetUUID") || init() != 0) {
    return;
  }
  std::array<char, KVET_NVML_UUID_BYTES> text{};
  if (version(text.data(), text.size()) == 0) {
    driver.version = text.data();
  }
  unsigned devices = 0;
  if (count(&devices) == 0) {
    for (unsigned index = 0; index < devices; ++index) {
      kvet_nvml_device device = nullptr;
      if (handle(index, &device) != 0) {
        continue;
      }
      Gpu gpu;
      if (model(device, text.data(), text.size()) == 0) {
        gpu.model = text.data();
      }
      if (uuid(device, text.data(), text.size()) == 0) {
        gpu.uuid = text.data();
      }
      driver.gpus.push_back(std::move(gpu));
    }
  }
  shutdown();
}

}  // namespace

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build  (…)": the first word that is
// numbers and points.
std::string driver_version(std::string_view text) {
  for (std::string_view word : split(text.substr(0, text.find('\n')), ' ')) {
    const bool numbers = word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (numbers && !word.empty() && digit(word.front()) && word.find('.') != std::string_view::npos) {
      return std::string(word);
    }
  }
  return {};
}

Driver driver(const System& system) {
  Driver driver;
  if (const auto text = system.read("/proc/driver/nvidia/version")) {
    driver.version = driver_version(*text);
  }
  for (const std::string& path : system.matches("/proc/driver/nvidia/gpus/*/information")) {
    const std::string text = system.read(path).value_or("");
    driver.gpus.push_back({value_of(text, "Model").value_or(""), value_of(text, "GPU UUID").value_or(""),
                           value_of(text, "Bus Location").value_or("")});
  }
  // The module parameter NVreg_RestrictProfilingToAdminUsers appears under the driver's own name.
  if (const auto text = system.read("/proc/driver/nvidia/params")) {
    if (const auto value = value_of(*text, "RmProfilingAdminOnly")) {
      driver.counters_for_administrators_only = *value != "0";
    }
  }
  if (driver.version.empty() && driver.gpus.empty() && system.root.empty()) {
    ask_nvml(driver);
  }
  return driver;
}

}  // namespace kvet::capability
