// A CUPTI for tests of one process: hardware that samples as the test says, and refuses what it is told to refuse.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "probes/counters/vendor_libraries.h"

namespace kvet::probes {

struct FakeHardware {
  std::mutex mutex;
  // What the test sets.
  std::set<std::string> unknown_metrics;
  size_t metrics_per_pass = 100;
  int enable_result = 0, availability_result = 0, time_trigger_result = 0, decode_result = 0, start_result = 0;
  int starts_to_refuse = 0;  // with error 999, as CUPTI does while samples wait to be decoded
  size_t largest_config = 100;  // more metrics than this are refused by cuptiPmSamplingSetConfig
  struct Sample {
    uint64_t start_ns, end_ns;
  };
  std::deque<Sample> buffer;  // what the hardware has gathered
  bool overflow = false;      // said once, by the next decoding
  // The newest sample waits for some unit's counts until the next decoding; an image made anew meanwhile loses it.
  bool newest_is_partial = false;

  // What the test looks at.
  int enabled = 0, stops = 0, hosts = 0;
  std::atomic<int> starts = 0;  // tests wait for it while the sampler runs
  uint32_t trigger = 99;
  uint64_t interval = 0;
  std::vector<uint64_t> started_intervals;
  size_t configured_metrics = 0;
  bool configured = false, asked_size = false;
};
inline FakeHardware* fake = nullptr;  // of the running test

// The images hold their samples as plain pairs of times behind a count; a metric's value is the sample's start plus the
// length of the metric's name.
struct FakeImage {
  size_t count, completed, most;
  FakeHardware::Sample samples[1];
};

inline PmLibrary fake_pm_library() {
  PmLibrary library;
  library.path = "fake";
  library.profiler_initialize = [](kvet_pm_profiler_initialize*) { return 0; };
  library.device_get_chip_name = [](kvet_pm_chip_name* p) {
    p->chip_name = "FK100";
    return 0;
  };
  library.get_counter_availability = [](kvet_pm_counter_availability* p) {
    p->image_size = 8;
    return fake->availability_result;
  };
  library.enable = [](kvet_pm_enable* p) {
    p->sampling = fake;
    fake->enabled += fake->enable_result == 0 ? 1 : 0;
    fake->configured = fake->asked_size = false;
    return fake->enable_result;
  };
  library.disable = [](kvet_pm_object*) {
    --fake->enabled;
    return 0;
  };
  library.set_config = [](kvet_pm_set_config* p) -> int {
    if (p->trigger == KVET_PM_TRIGGER_TIME && fake->time_trigger_result != 0) {
      return fake->time_trigger_result;
    }
    if (p->config[0] > fake->largest_config) {
      return KVET_PM_HARDWARE;
    }
    fake->trigger = p->trigger;
    // As on an H200: a device that was configured goes on as it is, until it is enabled anew.
    if (fake->configured) {
      return 0;
    }
    fake->configured = true;
    fake->interval = p->sampling_interval;
    fake->configured_metrics = p->config[0];
    return 0;
  };
  library.start = [](kvet_pm_object*) {
    const std::lock_guard lock(fake->mutex);
    if (fake->starts_to_refuse > 0) {
      --fake->starts_to_refuse;
      return static_cast<int>(KVET_PM_UNKNOWN);
    }
    fake->started_intervals.push_back(fake->interval);
    ++fake->starts;
    return fake->start_result;
  };
  library.stop = [](kvet_pm_object*) {
    ++fake->stops;
    return 0;
  };
  library.decode = [](kvet_pm_decode* p) {
    const std::lock_guard lock(fake->mutex);
    auto* image = reinterpret_cast<FakeImage*>(p->image);
    p->stop_reason = KVET_PM_DECODE_END_OF_RECORDS;
    while (!fake->buffer.empty()) {
      if (image->count == image->most) {
        p->stop_reason = KVET_PM_DECODE_IMAGE_FULL;
        image->completed = image->count;
        return fake->decode_result;
      }
      image->samples[image->count++] = fake->buffer.front();
      fake->buffer.pop_front();
    }
    p->overflow = fake->overflow ? 1 : 0;
    image->completed = image->count - (fake->newest_is_partial && image->count > 0 ? 1 : 0);
    const int result = fake->overflow ? static_cast<int>(KVET_PM_OUT_OF_MEMORY) : fake->decode_result;
    fake->overflow = false;
    return result;
  };
  library.get_image_size = [](kvet_pm_image_size* p) {
    fake->asked_size = true;
    p->image_size = sizeof(FakeImage) + p->max_samples * sizeof(FakeHardware::Sample);
    return 0;
  };
  library.image_initialize = [](kvet_pm_image_initialize* p) {
    if (!fake->asked_size) {
      return static_cast<int>(KVET_PM_INVALID_OPERATION);  // as on an H200, after the device was enabled anew
    }
    auto* image = reinterpret_cast<FakeImage*>(p->image);
    image->count = image->completed = 0;
    image->most = (p->image_size - sizeof(FakeImage)) / sizeof(FakeHardware::Sample);
    return 0;
  };
  library.get_image_info = [](kvet_pm_image_info* p) {
    const auto* image = reinterpret_cast<const FakeImage*>(p->image);
    p->total_samples = image->most;
    p->populated_samples = image->count;
    p->completed_samples = image->completed;
    return 0;
  };
  library.get_sample_info = [](kvet_pm_sample_info* p) {
    const auto* image = reinterpret_cast<const FakeImage*>(p->image);
    p->start_ns = image->samples[p->index].start_ns;
    p->end_ns = image->samples[p->index].end_ns;
    return 0;
  };
  library.host_initialize = [](kvet_pm_host_initialize* p) {
    ++fake->hosts;
    p->host = new std::vector<std::string>;
    return 0;
  };
  library.host_deinitialize = [](kvet_pm_host_object* p) {
    --fake->hosts;
    delete static_cast<std::vector<std::string>*>(p->host);
    return 0;
  };
  library.host_add_metrics = [](kvet_pm_host_add_metrics* p) -> int {
    for (size_t i = 0; i < p->metric_count; ++i) {
      if (fake->unknown_metrics.contains(p->metrics[i])) {
        return KVET_PM_INVALID_METRIC_NAME;
      }
      static_cast<std::vector<std::string>*>(p->host)->emplace_back(p->metrics[i]);
    }
    return 0;
  };
  library.host_get_config_size = [](kvet_pm_host_config_size* p) {
    p->config_size = 1;
    return 0;
  };
  library.host_get_config = [](kvet_pm_host_config* p) {
    p->config[0] = static_cast<uint8_t>(static_cast<std::vector<std::string>*>(p->host)->size());
    return 0;
  };
  library.host_get_passes = [](kvet_pm_host_passes* p) {
    p->passes = (p->config[0] + fake->metrics_per_pass - 1) / fake->metrics_per_pass;
    return 0;
  };
  library.host_evaluate = [](kvet_pm_host_evaluate* p) {
    const auto* image = reinterpret_cast<const FakeImage*>(p->image);
    for (size_t i = 0; i < p->metric_count; ++i) {
      p->values[i] = static_cast<double>(image->samples[p->index].start_ns + std::string(p->metrics[i]).size());
    }
    return 0;
  };
  return library;
}

}  // namespace kvet::probes
