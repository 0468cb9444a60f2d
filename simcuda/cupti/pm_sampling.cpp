// Performance-monitor sampling of the shared machine, from any process. Samples are computed when they are decoded, from
// the machine's own history; the counters' clock has the planted offset and drift.
#include <algorithm>
#include <cmath>

#include "abi/vendor/cupti_pm.h"
#include "cupti/mutant.h"
#include "cupti/pm.h"

#define SIMCUDA_API extern "C" __attribute__((visibility("default")))

namespace simcuda::cupti {
namespace {

// What one raw sample takes in the hardware buffer: 512 MiB held at least 50,000 on an H200.
constexpr size_t bytes_per_raw_sample = 8192;

struct Sampling {
  uint32_t device = 0;
  int64_t interval_ns = 0;
  int64_t capacity = 0;  // samples in the hardware buffer
  int64_t enabled_ns = 0;  // the first sample begins here
  int64_t next_start_ns = 0;
  bool first = true, running = false;
  int64_t stopped_ns = never;
  uint64_t decoded = 0;
};

uint64_t counter_clock(const World& world, int64_t monotonic) {
  double drifted_ns = world.counter_drift_ns_per_s * static_cast<double>(monotonic) / 1e9;
  return static_cast<uint64_t>(monotonic + world.counter_offset_ns + std::llround(drifted_ns));
}

}  // namespace

SIMCUDA_API int cuptiPmSamplingGetCounterAvailability(kvet_pm_counter_availability* parameters) {
  if (int refusal = counters_refusal(); refusal != KVET_PM_SUCCESS) {
    return refusal;
  }
  parameters->image_size = 64;
  if (parameters->image != nullptr) {
    std::fill_n(parameters->image, parameters->image_size, uint8_t{1});
  }
  return KVET_PM_SUCCESS;
}

SIMCUDA_API int cuptiPmSamplingEnable(kvet_pm_enable* parameters) {
  const World* world = shared_world();
  if (int refusal = counters_refusal(); refusal != KVET_PM_SUCCESS) {
    return refusal;
  }
  if (world == nullptr || parameters->device_index >= world->device_count) {
    return KVET_PM_INVALID_DEVICE;
  }
  auto* sampling = new Sampling;
  sampling->device = static_cast<uint32_t>(parameters->device_index);
  sampling->enabled_ns = monotonic_ns();
  parameters->sampling = sampling;
  return KVET_PM_SUCCESS;
}
SIMCUDA_API int cuptiPmSamplingDisable(kvet_pm_object* parameters) {
  delete static_cast<Sampling*>(parameters->sampling);
  return KVET_PM_SUCCESS;
}

SIMCUDA_API int cuptiPmSamplingSetConfig(kvet_pm_set_config* parameters) {
  auto& sampling = *static_cast<Sampling*>(parameters->sampling);
  std::vector<uint32_t> metrics;
  if (!read_config(parameters->config, parameters->config_size, metrics) || parameters->sampling_interval == 0 ||
      parameters->trigger != KVET_PM_TRIGGER_TIME) {
    return KVET_PM_INVALID_PARAMETER;
  }
  if (sampling.interval_ns != 0) {
    return KVET_PM_SUCCESS;  // as on an H200: yes, and then it goes on as it was configured first
  }
  sampling.interval_ns = static_cast<int64_t>(parameters->sampling_interval);
  sampling.capacity = static_cast<int64_t>(parameters->hardware_buffer_size / bytes_per_raw_sample);
  return KVET_PM_SUCCESS;
}

SIMCUDA_API int cuptiPmSamplingGetCounterDataSize(kvet_pm_image_size* parameters) {
  parameters->image_size = sizeof(ImageHeader) + parameters->max_samples * sizeof(ImageSample);
  return KVET_PM_SUCCESS;
}
SIMCUDA_API int cuptiPmSamplingCounterDataImageInitialize(kvet_pm_image_initialize* parameters) {
  if (parameters->image_size < sizeof(ImageHeader)) {
    return KVET_PM_INVALID_PARAMETER;
  }
  auto* header = reinterpret_cast<ImageHeader*>(parameters->image);
  header->magic = image_magic;
  header->samples = 0;
  header->most = static_cast<uint32_t>((parameters->image_size - sizeof(ImageHeader)) / sizeof(ImageSample));
  return KVET_PM_SUCCESS;
}

SIMCUDA_API int cuptiPmSamplingStart(kvet_pm_object* parameters) {
  auto& sampling = *static_cast<Sampling*>(parameters->sampling);
  if (sampling.running || sampling.interval_ns == 0) {
    return KVET_PM_INVALID_OPERATION;
  }
  // As on an H200: what was sampled before must have been decoded.
  if (sampling.stopped_ns != never && sampling.next_start_ns + sampling.interval_ns <= sampling.stopped_ns) {
    return KVET_PM_UNKNOWN;
  }
  sampling.running = true;
  sampling.first = true;
  sampling.stopped_ns = never;
  sampling.next_start_ns = monotonic_ns();
  return KVET_PM_SUCCESS;
}
SIMCUDA_API int cuptiPmSamplingStop(kvet_pm_object* parameters) {
  auto& sampling = *static_cast<Sampling*>(parameters->sampling);
  if (!sampling.running) {
    return KVET_PM_INVALID_OPERATION;
  }
  sampling.running = false;
  sampling.stopped_ns = monotonic_ns();
  return KVET_PM_SUCCESS;
}

SIMCUDA_API int cuptiPmSamplingDecodeData(kvet_pm_decode* parameters) {
  auto& sampling = *static_cast<Sampling*>(parameters->sampling);
  if (image_header(parameters->image, parameters->image_size) == nullptr) {
    return KVET_PM_INVALID_PARAMETER;
  }
  auto* header = reinterpret_cast<ImageHeader*>(parameters->image);
  parameters->overflow = 0;
  parameters->stop_reason = KVET_PM_DECODE_END_OF_RECORDS;
  constexpr int samples_per_lock = 128;  // so that launches are not kept waiting
  for (;;) {
    Locked world(*shared_world());
    int64_t end_of_time = std::min(world->now_ns, sampling.stopped_ns);
    if (sampling.interval_ns == 0 || sampling.next_start_ns + sampling.interval_ns > end_of_time) {
      return KVET_PM_SUCCESS;
    }
    // Keep-oldest: what came after the buffer was full is gone.
    int64_t waiting = (end_of_time - sampling.next_start_ns) / sampling.interval_ns;
    int64_t lost = std::max<int64_t>(0, waiting - sampling.capacity);
    for (int i = 0; i < samples_per_lock && sampling.next_start_ns + sampling.interval_ns <= end_of_time; ++i) {
      if (header->samples == header->most) {
        parameters->stop_reason = KVET_PM_DECODE_IMAGE_FULL;
        return KVET_PM_SUCCESS;
      }
      int64_t start = sampling.first ? sampling.enabled_ns : sampling.next_start_ns;
      int64_t end = sampling.next_start_ns + sampling.interval_ns;
      ImageSample& sample = image_samples(header)[header->samples++];
      sample.start = counter_clock(*world, start);
      sample.end = counter_clock(*world, end);
      sample.length_ns = static_cast<double>(end - start);
      sample.totals = totals(*world, sampling.device, start, end);
      if (mutant_blanks_sample(sampling.decoded++)) {
        sample.totals = Totals{};
      }
      sampling.first = false;
      sampling.next_start_ns = end;
    }
    if (lost > 0) {
      parameters->overflow = 1;
      sampling.next_start_ns += lost * sampling.interval_ns;
    }
  }
}

SIMCUDA_API int cuptiPmSamplingGetCounterDataInfo(kvet_pm_image_info* parameters) {
  const ImageHeader* header = image_header(parameters->image, parameters->image_size);
  if (header == nullptr) {
    return KVET_PM_INVALID_PARAMETER;
  }
  parameters->total_samples = header->most;
  parameters->populated_samples = parameters->completed_samples = header->samples;
  return KVET_PM_SUCCESS;
}

SIMCUDA_API int cuptiPmSamplingCounterDataGetSampleInfo(kvet_pm_sample_info* parameters) {
  const ImageHeader* header = image_header(parameters->image, parameters->image_size);
  if (header == nullptr || parameters->index >= header->samples) {
    return KVET_PM_INVALID_PARAMETER;
  }
  parameters->start_ns = image_samples(header)[parameters->index].start;
  parameters->end_ns = image_samples(header)[parameters->index].end;
  return KVET_PM_SUCCESS;
}

}  // namespace simcuda::cupti
