#include "probes/counters/nvml_reader.h"

#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <string_view>

namespace kvet::probes {

std::optional<std::array<uint8_t, 16>> parse_gpu_uuid(const std::string& text) {
  constexpr std::string_view prefix = "GPU-";
  if (!text.starts_with(prefix)) {
    return std::nullopt;
  }
  std::array<uint8_t, 16> uuid{};
  size_t digits = 0;
  for (char character : std::string_view(text).substr(prefix.size())) {
    uint8_t value = 0;
    if (character == '-') {
      continue;
    }
    if (character >= '0' && character <= '9') {
      value = static_cast<uint8_t>(character - '0');
    } else if (character >= 'a' && character <= 'f') {
      value = static_cast<uint8_t>(character - 'a' + 10);
    } else if (character >= 'A' && character <= 'F') {
      value = static_cast<uint8_t>(character - 'A' + 10);
    } else {
      return std::nullopt;
    }
    if (digits == 32) {
      return std::nullopt;
    }
    uuid[digits / 2] = static_cast<uint8_t>(uuid[digits / 2] << 4 | value);
    ++digits;
  }
  return digits == 32 ? std::optional(uuid) : std::nullopt;
}

Result<NvmlReader> NvmlReader::open() {
  auto library = load_nvml();
  if (!library) {
    return std::unexpected(library.error());
  }
  NvmlReader reader;
  reader.library_ = *library;
  if (int code = library->init(); code != 0) {
    return fail(ErrorKind::unavailable, fmt::format("NVML does not start: nvmlInit_v2 failed with error {}", code));
  }
  char version[KVET_NVML_DRIVER_VERSION_BYTES] = {};
  if (library->get_driver_version(version, sizeof(version)) == 0) {
    reader.driver_version_ = version;
  }
  unsigned int count = 0;
  if (int code = library->get_count(&count); code != 0) {
    return fail(ErrorKind::unavailable,
                fmt::format("NVML lists no GPUs: nvmlDeviceGetCount_v2 failed with error {}", code));
  }
  for (unsigned int index = 0; index < count; ++index) {
    NvmlGpu gpu;
    char text[KVET_NVML_UUID_BYTES] = {};
    // A GPU that this user may not see, or that fell off the bus, is not the end of the others.
    if (library->get_handle(index, &gpu.handle) != 0 || library->get_uuid(gpu.handle, text, sizeof(text)) != 0) {
      continue;
    }
    auto uuid = parse_gpu_uuid(text);
    if (!uuid) {
      continue;
    }
    gpu.uuid = *uuid;
    char gpu_name[KVET_NVML_NAME_BYTES] = {};
    if (library->get_name != nullptr && library->get_name(gpu.handle, gpu_name, sizeof(gpu_name)) == 0) {
      gpu.name = gpu_name;
    }
    kvet_nvml_memory memory{};
    if (library->get_memory != nullptr && library->get_memory(gpu.handle, &memory) == 0) {
      gpu.memory_bytes = memory.total;
    }
    unsigned int limit = 0;
    if (library->get_power_limit(gpu.handle, &limit) == 0) {
      gpu.power_limit_milliwatts = limit;
    }
    unsigned int current = 0, pending = 0;
    gpu.split_by_mig =
        library->get_mig_mode != nullptr && library->get_mig_mode(gpu.handle, &current, &pending) == 0 && current == 1;
    reader.gpus_.push_back(gpu);
  }
  return reader;
}

std::string NvmlReader::read(const NvmlGpu& gpu, kvet_sampler_reading& reading) const {
  int fatal = 0;
  const auto take = [&](int code, kvet_reading_field field) {
    if (code == 0) {
      reading.known |= field;
    } else if (code == KVET_NVML_ERROR_GPU_IS_LOST || code == KVET_NVML_ERROR_RESET_REQUIRED) {
      fatal = code;
    }
  };
  take(library_.get_power(gpu.handle, &reading.power_milliwatts), KVET_READING_POWER);
  take(library_.get_clock(gpu.handle, KVET_NVML_CLOCK_SM, &reading.sm_clock_mhz), KVET_READING_SM_CLOCK);
  take(library_.get_clock(gpu.handle, KVET_NVML_CLOCK_MEMORY, &reading.memory_clock_mhz), KVET_READING_MEMORY_CLOCK);
  take(library_.get_temperature(gpu.handle, KVET_NVML_TEMPERATURE_GPU, &reading.temperature_celsius),
       KVET_READING_TEMPERATURE);
  unsigned long long reasons = 0;
  take(library_.get_throttle_reasons(gpu.handle, &reasons), KVET_READING_THROTTLE);
  reading.throttle_reasons = reasons;
  switch (fatal) {
    case 0: return {};
    case KVET_NVML_ERROR_RESET_REQUIRED: return "the GPU needs a reset before it works again (NVML: error 16)";
    default: return fmt::format("the GPU is lost: it fell off the bus or cannot be reached (NVML: error {})", fatal);
  }
}

bool NvmlReader::has_gpm(const NvmlGpu& gpu) const {
  if (library_.gpm_support == nullptr || library_.gpm_allocate == nullptr || library_.gpm_free == nullptr ||
      library_.gpm_get == nullptr || library_.gpm_metrics == nullptr) {
    return false;
  }
  kvet_nvml_gpm_support support{KVET_NVML_GPM_SUPPORT_VERSION, 0};
  return library_.gpm_support(gpu.handle, &support) == 0 && support.supported != 0;
}

kvet_nvml_gpm_sample NvmlReader::take_gpm(const NvmlGpu& gpu) const {
  kvet_nvml_gpm_sample sample = nullptr;
  if (library_.gpm_allocate(&sample) != 0) {
    return nullptr;
  }
  if (library_.gpm_get(gpu.handle, sample) != 0) {
    library_.gpm_free(sample);
    return nullptr;
  }
  return sample;
}

void NvmlReader::free_gpm(kvet_nvml_gpm_sample sample) const {
  if (sample != nullptr) {
    library_.gpm_free(sample);
  }
}

void NvmlReader::compare_gpm(kvet_nvml_gpm_sample first, kvet_nvml_gpm_sample second,
                             kvet_sampler_reading& reading) const {
  if (first == nullptr || second == nullptr) {
    return;
  }
  struct Wanted {
    unsigned int id;
    kvet_reading_field field;
    double kvet_sampler_reading::* place;
  };
  constexpr Wanted wanted[] = {
      {KVET_NVML_GPM_SM_OCCUPANCY, KVET_READING_GPM_OCCUPANCY, &kvet_sampler_reading::gpm_sm_occupancy_percent},
      {KVET_NVML_GPM_DRAM_BANDWIDTH, KVET_READING_GPM_DRAM, &kvet_sampler_reading::gpm_dram_percent},
      {KVET_NVML_GPM_SM_UTILIZATION, KVET_READING_GPM_SM_ACTIVE, &kvet_sampler_reading::gpm_sm_active_percent},
  };
  auto metrics = std::make_unique<kvet_nvml_gpm_metrics>();
  metrics->version = KVET_NVML_GPM_METRICS_VERSION;
  metrics->first = first;
  metrics->second = second;
  for (const Wanted& one : wanted) {
    metrics->metrics[metrics->metric_count++].id = one.id;
  }
  if (library_.gpm_metrics(metrics.get()) != 0) {
    return;
  }
  for (size_t index = 0; index < std::size(wanted); ++index) {
    const kvet_nvml_gpm_metric& metric = metrics->metrics[index];
    // Percentages beyond 100 were seen on MIG devices: such a value is not one.
    if (metric.result == 0 && std::isfinite(metric.value) && metric.value >= 0 && metric.value <= 100) {
      reading.*wanted[index].place = metric.value;
      reading.known |= wanted[index].field;
    }
  }
}

}  // namespace kvet::probes
