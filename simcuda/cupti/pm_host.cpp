// The profiler host API: which metrics there are, and the image that describes a choice of them. A configuration image is a
// magic number, a count and the metrics' numbers.
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "abi/vendor/cupti_pm.h"
#include "cupti/pm.h"
#include "cupti/pm_metrics.h"

#define SIMCUDA_API extern "C" __attribute__((visibility("default")))

namespace simcuda::cupti {
namespace {

struct Host {
  std::vector<uint32_t> metrics;
};

const char* const chip = "SIMCUDA";

std::vector<uint32_t> config_words(const Host& host) {
  std::vector<uint32_t> words = {config_magic, static_cast<uint32_t>(host.metrics.size())};
  words.insert(words.end(), host.metrics.begin(), host.metrics.end());
  return words;
}

}  // namespace

// $KVET_SIMCUDA_COUNTERS=refused: as for a user without the right; =held: as when another client has the counters.
int counters_refusal() {
  const char* text = std::getenv("KVET_SIMCUDA_COUNTERS");
  std::string_view mode = text == nullptr ? "" : text;
  return mode == "refused" ? KVET_PM_INSUFFICIENT_PRIVILEGES : mode == "held" ? KVET_PM_HARDWARE_BUSY : KVET_PM_SUCCESS;
}

bool read_config(const uint8_t* image, size_t size, std::vector<uint32_t>& metrics) {
  uint32_t head[2];
  if (image == nullptr || size < sizeof head) {
    return false;
  }
  std::memcpy(head, image, sizeof head);
  if (head[0] != config_magic || size < sizeof head + head[1] * sizeof(uint32_t)) {
    return false;
  }
  metrics.resize(head[1]);
  std::memcpy(metrics.data(), image + sizeof head, head[1] * sizeof(uint32_t));
  return true;
}

SIMCUDA_API int cuptiProfilerInitialize(kvet_pm_profiler_initialize*) { return KVET_PM_SUCCESS; }
SIMCUDA_API int cuptiProfilerDeInitialize(kvet_pm_profiler_initialize*) { return KVET_PM_SUCCESS; }

SIMCUDA_API int cuptiDeviceGetChipName(kvet_pm_chip_name* parameters) {
  const World* world = shared_world();
  if (world == nullptr || parameters->device_index >= world->device_count) {
    return KVET_PM_INVALID_DEVICE;
  }
  parameters->chip_name = chip;
  return KVET_PM_SUCCESS;
}

SIMCUDA_API int cuptiProfilerHostInitialize(kvet_pm_host_initialize* parameters) {
  if (parameters->chip_name == nullptr || std::strcmp(parameters->chip_name, chip) != 0) {
    return KVET_PM_INVALID_CHIP_NAME;
  }
  parameters->host = new Host;
  return KVET_PM_SUCCESS;
}
SIMCUDA_API int cuptiProfilerHostDeinitialize(kvet_pm_host_object* parameters) {
  delete static_cast<Host*>(parameters->host);
  return KVET_PM_SUCCESS;
}

SIMCUDA_API int cuptiProfilerHostConfigAddMetrics(kvet_pm_host_add_metrics* parameters) {
  auto& host = *static_cast<Host*>(parameters->host);
  for (size_t i = 0; i < parameters->metric_count; ++i) {
    int metric = find_metric(parameters->metrics[i]);
    if (metric < 0) {
      return KVET_PM_INVALID_METRIC_NAME;
    }
    host.metrics.push_back(static_cast<uint32_t>(metric));
  }
  return KVET_PM_SUCCESS;
}

SIMCUDA_API int cuptiProfilerHostGetConfigImageSize(kvet_pm_host_config_size* parameters) {
  parameters->config_size = config_words(*static_cast<Host*>(parameters->host)).size() * sizeof(uint32_t);
  return KVET_PM_SUCCESS;
}
SIMCUDA_API int cuptiProfilerHostGetConfigImage(kvet_pm_host_config* parameters) {
  std::vector<uint32_t> words = config_words(*static_cast<Host*>(parameters->host));
  if (parameters->config_size < words.size() * sizeof(uint32_t)) {
    return KVET_PM_INVALID_PARAMETER;
  }
  std::memcpy(parameters->config, words.data(), words.size() * sizeof(uint32_t));
  return KVET_PM_SUCCESS;
}
SIMCUDA_API int cuptiProfilerHostGetNumOfPasses(kvet_pm_host_passes* parameters) {
  std::vector<uint32_t> metrics;
  if (!read_config(parameters->config, parameters->config_size, metrics)) {
    return KVET_PM_INVALID_PARAMETER;
  }
  parameters->passes = 1;
  return KVET_PM_SUCCESS;
}

SIMCUDA_API int cuptiProfilerHostEvaluateToGpuValues(kvet_pm_host_evaluate* parameters) {
  const ImageHeader* header = image_header(parameters->image, parameters->image_size);
  if (header == nullptr || parameters->index >= header->samples) {
    return KVET_PM_INVALID_PARAMETER;
  }
  const ImageSample& sample = image_samples(header)[parameters->index];
  for (size_t i = 0; i < parameters->metric_count; ++i) {
    int metric = find_metric(parameters->metrics[i]);
    if (metric < 0) {
      return KVET_PM_INVALID_METRIC_NAME;
    }
    parameters->values[i] = evaluate_metric(metric, sample.totals, sample.length_ns);
  }
  return KVET_PM_SUCCESS;
}

}  // namespace simcuda::cupti
