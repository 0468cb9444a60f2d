// The NVML stand-in: what a monitor reads about the modelled devices. Power follows how busy the multiprocessors were.
#include "abi/vendor/nvml.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "device/engine.h"
#include "device/shared_world.h"

#define SIMCUDA_API extern "C" __attribute__((visibility("default")))

namespace simcuda::nvml {
namespace {

enum Result {
  success = 0,
  uninitialized = 1,
  invalid_argument = 2,
  not_supported = 3,
  not_found = 6,
  insufficient_size = 7,
  gpu_is_lost = KVET_NVML_ERROR_GPU_IS_LOST
};

constexpr unsigned idle_milliwatts = 100'000, busy_milliwatts = 600'000, limit_milliwatts = 700'000;
constexpr int64_t power_window_ns = 100'000'000, gpm_shortest_ns = 100'000'000;

struct Snapshot {
  int64_t time_ns = 0;
  uint32_t device = 0;
};

// Handles are device numbers, counted from 1.
bool find(kvet_nvml_device handle, uint32_t& device) {
  auto number = reinterpret_cast<uintptr_t>(handle);
  const World* world = shared_world();
  if (world == nullptr || number == 0 || number > world->device_count) {
    return false;
  }
  device = static_cast<uint32_t>(number - 1);
  return true;
}

// KVET_SIMCUDA_LOST_AFTER_MS: how long after its first question this process finds the devices gone.
bool lost() {
  static const char* const after_ms = std::getenv("KVET_SIMCUDA_LOST_AFTER_MS");
  static const int64_t first_ns = monotonic_ns();
  return after_ms != nullptr && monotonic_ns() - first_ns >= std::atoll(after_ms) * 1'000'000;
}

// For questions about what a device does now.
Result reach(kvet_nvml_device handle, uint32_t& device) {
  return !find(handle, device) ? invalid_argument : lost() ? gpu_is_lost : success;
}

Totals sums(uint32_t device, int64_t from_ns, int64_t to_ns) {
  Locked world(*shared_world());
  return totals(*world, device, from_ns, to_ns);
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

}  // namespace

SIMCUDA_API int nvmlInit_v2() { return shared_world() == nullptr ? uninitialized : success; }
SIMCUDA_API int nvmlShutdown() { return success; }
SIMCUDA_API const char* nvmlErrorString(int result) {
  return result == success ? "Success" : "an error of the stand-in";
}

SIMCUDA_API int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::snprintf(text, length, "580.0.simcuda");
  return success;
}
SIMCUDA_API int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = shared_world() == nullptr ? 0 : shared_world()->device_count;
  return success;
}
SIMCUDA_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, kvet_nvml_device* handle) {
  if (shared_world() == nullptr || index >= shared_world()->device_count) {
    return invalid_argument;
  }
  *handle = std::bit_cast<kvet_nvml_device>(static_cast<uintptr_t>(index) + 1);
  return success;
}

SIMCUDA_API int nvmlDeviceGetUUID(kvet_nvml_device handle, char* text, unsigned length) {
  uint32_t device;
  if (!find(handle, device)) {
    return invalid_argument;
  }
  const uint8_t* b = shared_world()->devices[device].uuid;
  int written =
      std::snprintf(text, length, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                    b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
  return written < static_cast<int>(length) ? success : insufficient_size;
}
SIMCUDA_API int nvmlDeviceGetName(kvet_nvml_device handle, char* text, unsigned length) {
  uint32_t device;
  if (!find(handle, device)) {
    return invalid_argument;
  }
  std::snprintf(text, length, "simcuda stand-in, no GPU");
  return success;
}
SIMCUDA_API int nvmlDeviceGetMemoryInfo(kvet_nvml_device handle, kvet_nvml_memory* memory) {
  uint32_t device;
  if (!find(handle, device)) {
    return invalid_argument;
  }
  *memory = {memory_bytes, memory_bytes, 0};
  return success;
}
SIMCUDA_API int nvmlDeviceGetMigMode(kvet_nvml_device, unsigned* current, unsigned* pending) {
  *current = *pending = 0;
  return success;
}

SIMCUDA_API int nvmlDeviceGetUtilizationRates(kvet_nvml_device handle, kvet_nvml_utilization* utilization) {
  uint32_t device;
  if (!find(handle, device)) {
    return invalid_argument;
  }
  int64_t now = monotonic_ns();
  Totals recent = sums(device, now - power_window_ns, now);
  auto length = static_cast<double>(power_window_ns);
  utilization->gpu =
      static_cast<unsigned>(std::lround(percent(recent.active_multiprocessor_ns, length * multiprocessors)));
  utilization->memory =
      static_cast<unsigned>(std::lround(percent(recent.read_bytes + recent.write_bytes, length * dram_bytes_per_ns)));
  return success;
}
// Every process that has initialised CUDA on this machine of ours is told for each device.
SIMCUDA_API int nvmlDeviceGetComputeRunningProcesses_v3(kvet_nvml_device handle, unsigned* count,
                                                        kvet_nvml_process* processes) {
  uint32_t device;
  if (!find(handle, device)) {
    return invalid_argument;
  }
  Locked world(*shared_world());
  unsigned found = 0;
  for (const Process& process : world->processes) {
    if (process.used == 0) {
      continue;
    }
    if (found < *count) {
      processes[found] = {static_cast<unsigned>(process.pid), 0, none, none};
    }
    ++found;
  }
  bool enough = found <= *count;
  *count = found;
  return enough ? success : insufficient_size;
}

SIMCUDA_API int nvmlDeviceGetPowerUsage(kvet_nvml_device handle, unsigned* milliwatts) {
  uint32_t device;
  if (const Result reached = reach(handle, device); reached != success) {
    return reached;
  }
  int64_t now = monotonic_ns();
  Totals recent = sums(device, now - power_window_ns, now);
  double busy = recent.active_multiprocessor_ns / (static_cast<double>(power_window_ns) * multiprocessors);
  *milliwatts = idle_milliwatts + static_cast<unsigned>(busy * (busy_milliwatts - idle_milliwatts));
  return success;
}
SIMCUDA_API int nvmlDeviceGetEnforcedPowerLimit(kvet_nvml_device handle, unsigned* milliwatts) {
  uint32_t device;
  *milliwatts = limit_milliwatts;
  return find(handle, device) ? success : invalid_argument;
}
SIMCUDA_API int nvmlDeviceGetClockInfo(kvet_nvml_device handle, int type, unsigned* megahertz) {
  uint32_t device;
  if (const Result reached = reach(handle, device); reached != success) {
    return reached;
  }
  if (type != KVET_NVML_CLOCK_SM && type != KVET_NVML_CLOCK_MEMORY) {
    return not_supported;
  }
  *megahertz = type == KVET_NVML_CLOCK_SM ? static_cast<unsigned>(clock_cycles_per_ns * 1000) : 3125;
  return success;
}
SIMCUDA_API int nvmlDeviceGetTemperature(kvet_nvml_device handle, int, unsigned* celsius) {
  uint32_t device;
  *celsius = 45;
  return reach(handle, device);
}
SIMCUDA_API int nvmlDeviceGetCurrentClocksThrottleReasons(kvet_nvml_device handle, unsigned long long* reasons) {
  uint32_t device;
  *reasons = 0;
  return reach(handle, device);
}

SIMCUDA_API int nvmlGpmQueryDeviceSupport(kvet_nvml_device handle, kvet_nvml_gpm_support* support) {
  uint32_t device;
  support->supported = 1;
  return find(handle, device) ? success : invalid_argument;
}
SIMCUDA_API int nvmlGpmSampleAlloc(Snapshot** sample) {
  *sample = new Snapshot;
  return success;
}
SIMCUDA_API int nvmlGpmSampleFree(Snapshot* sample) {
  delete sample;
  return success;
}
SIMCUDA_API int nvmlGpmSampleGet(kvet_nvml_device handle, Snapshot* sample) {
  sample->time_ns = monotonic_ns();
  return find(handle, sample->device) ? success : invalid_argument;
}

SIMCUDA_API int nvmlGpmMetricsGet(kvet_nvml_gpm_metrics* request) {
  const auto* first = reinterpret_cast<const Snapshot*>(request->first);
  const auto* second = reinterpret_cast<const Snapshot*>(request->second);
  if (first == nullptr || second == nullptr || first->device != second->device) {
    return invalid_argument;
  }
  auto length = static_cast<double>(second->time_ns - first->time_ns);
  // Nearer samples give zeros without an error, as the real library was seen to do.
  Totals between{};
  if (length >= static_cast<double>(gpm_shortest_ns)) {
    between = sums(first->device, first->time_ns, second->time_ns);
  }
  for (unsigned i = 0; i < request->metric_count; ++i) {
    kvet_nvml_gpm_metric& metric = request->metrics[i];
    metric.result = success;
    switch (metric.id) {
      case KVET_NVML_GPM_SM_UTILIZATION:
        metric.value = percent(between.active_multiprocessor_ns, length * multiprocessors);
        break;
      case KVET_NVML_GPM_SM_OCCUPANCY:
        metric.value = percent(between.warp_ns, length * multiprocessors * warps_per_multiprocessor);
        break;
      case KVET_NVML_GPM_DRAM_BANDWIDTH:
        metric.value = percent(between.read_bytes + between.write_bytes, length * dram_bytes_per_ns);
        break;
      default: metric.result = not_supported;
    }
  }
  return success;
}

}  // namespace simcuda::nvml
