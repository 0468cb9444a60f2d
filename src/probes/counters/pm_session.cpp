#include "probes/counters/pm_session.h"

#include <algorithm>
#include <ctime>

#include "probes/counters/pm_parameters.h"
#include "probes/counters/refusal.h"

namespace kvet::probes {
namespace {

// What one cycle of the system clock is taken to last where the hardware cannot be triggered by time (Turing, GA100:
// 1.4 to 1.7 GHz). Only sets how many samples come per second; every sample has its own times.
constexpr double system_clock_ghz = 1.5;

std::vector<const char*> names_of(const std::vector<Metric>& metrics) {
  std::vector<const char*> names;
  names.reserve(metrics.size());
  for (const Metric& metric : metrics) {
    names.push_back(metric.name);
  }
  return names;
}

uint64_t thread_processor_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

}  // namespace

std::unexpected<Error> PmSession::refused(const char* step, int code) const {
  return fail(ErrorKind::unavailable, refusal(step, code, chip_));
}

Result<std::unique_ptr<PmSession>> PmSession::open(const PmLibrary& library, size_t device_index,
                                                   const PmOptions& options) {
  std::unique_ptr<PmSession> session(new PmSession(library, options));
  if (auto done = session->set_up(device_index); !done) {
    return std::unexpected(done.error());
  }
  return session;
}

PmSession::~PmSession() {
  close();
  free_host(configuration_.host);
}

void PmSession::close() {
  if (sampling_ != nullptr) {
    [[maybe_unused]] auto stopped = stop();
    KVET_PM_PARAMETERS(kvet_pm_object, sampling, disable);
    disable.sampling = sampling_;
    library_.disable(&disable);
    sampling_ = nullptr;
  }
}

void* PmSession::new_host() const {
  KVET_PM_PARAMETERS(kvet_pm_host_initialize, host, initialize);
  initialize.profiler_type = KVET_PM_PROFILER_TYPE;
  initialize.chip_name = chip_.c_str();
  initialize.counter_availability = availability_.data();
  return library_.host_initialize(&initialize) == KVET_PM_SUCCESS ? initialize.host : nullptr;
}

void PmSession::free_host(void* host) const {
  if (host != nullptr) {
    KVET_PM_PARAMETERS(kvet_pm_host_object, host, object);
    object.host = host;
    library_.host_deinitialize(&object);
  }
}

Result<std::vector<uint8_t>> PmSession::config_image(void* host, const std::vector<const char*>& names) const {
  std::vector<const char*> list = names;
  KVET_PM_PARAMETERS(kvet_pm_host_add_metrics, metric_count, add);
  add.host = host;
  add.metrics = list.data();
  add.metric_count = list.size();
  if (int code = library_.host_add_metrics(&add); code != KVET_PM_SUCCESS) {
    return refused("cuptiProfilerHostConfigAddMetrics", code);
  }
  KVET_PM_PARAMETERS(kvet_pm_host_config_size, config_size, size);
  size.host = host;
  if (int code = library_.host_get_config_size(&size); code != KVET_PM_SUCCESS) {
    return refused("cuptiProfilerHostGetConfigImageSize", code);
  }
  std::vector<uint8_t> image(size.config_size);
  KVET_PM_PARAMETERS(kvet_pm_host_config, config, config);
  config.host = host;
  config.config_size = image.size();
  config.config = image.data();
  if (int code = library_.host_get_config(&config); code != KVET_PM_SUCCESS) {
    return refused("cuptiProfilerHostGetConfigImage", code);
  }
  return image;
}

std::optional<size_t> PmSession::passes(const std::vector<const char*>& names) const {
  void* host = new_host();
  if (host == nullptr || names.empty()) {
    free_host(host);
    return std::nullopt;
  }
  std::optional<size_t> answer;
  if (auto image = config_image(host, names)) {
    KVET_PM_PARAMETERS(kvet_pm_host_passes, passes, count);
    count.config_size = image->size();
    count.config = image->data();
    if (library_.host_get_passes(&count) == KVET_PM_SUCCESS) {
      answer = count.passes;
    }
  }
  free_host(host);
  return answer;
}

Result<void> PmSession::enable() {
  KVET_PM_PARAMETERS(kvet_pm_enable, sampling, enable);
  enable.device_index = device_index_;
  if (int code = library_.enable(&enable); code != KVET_PM_SUCCESS) {
    return refused("cuptiPmSamplingEnable", code);
  }
  sampling_ = enable.sampling;
  return {};
}

Result<void> PmSession::set_up(size_t device_index) {
  device_index_ = device_index;
  next_interval_ns_ = options_.interval_ns;
  KVET_PM_PARAMETERS(kvet_pm_chip_name, chip_name, chip);
  chip.device_index = device_index;
  if (int code = library_.device_get_chip_name(&chip); code != KVET_PM_SUCCESS) {
    return refused("cuptiDeviceGetChipName", code);
  }
  chip_ = chip.chip_name == nullptr ? "" : chip.chip_name;

  KVET_PM_PARAMETERS(kvet_pm_counter_availability, image, availability);
  availability.device_index = device_index;
  if (int code = library_.get_counter_availability(&availability); code != KVET_PM_SUCCESS) {
    return refused("cuptiPmSamplingGetCounterAvailability", code);
  }
  availability_.resize(availability.image_size);
  availability.image = availability_.data();
  if (int code = library_.get_counter_availability(&availability); code != KVET_PM_SUCCESS) {
    return refused("cuptiPmSamplingGetCounterAvailability", code);
  }

  if (auto enabled = enable(); !enabled) {
    return enabled;
  }
  // Fewer groups where the hardware refuses what the host interface called schedulable; a trigger by clock cycles where
  // it has none by time.
  const auto count_passes = [this](const std::vector<const char*>& names) { return passes(names); };
  MetricGroup up_to = options_.detail ? MetricGroup::detail : MetricGroup::fingerprint;
  for (;; up_to = static_cast<MetricGroup>(static_cast<uint8_t>(up_to) - 1)) {
    std::vector<Metric> chosen = choose_metrics(count_passes, up_to);
    if (chosen.empty()) {
      return refused("cuptiProfilerHostConfigAddMetrics", KVET_PM_NOT_SUPPORTED);
    }
    auto configured = configure(std::move(chosen));
    if (configured || up_to == MetricGroup::basic) {
      return configured;
    }
  }
}

Result<void> PmSession::configure(std::vector<Metric> metrics) {
  configuration_.metrics = std::move(metrics);
  configuration_.names = names_of(configuration_.metrics);
  configuration_.values.assign(configuration_.names.size(), 0);
  free_host(configuration_.host);
  configuration_.host = new_host();
  if (configuration_.host == nullptr) {
    return refused("cuptiProfilerHostInitialize", KVET_PM_INVALID_CHIP_NAME);
  }
  auto config = config_image(configuration_.host, configuration_.names);
  if (!config) {
    return std::unexpected(config.error());
  }
  configuration_.config = std::move(*config);
  if (auto set = set_config(); !set) {
    return set;
  }
  return make_image();
}

// Also of a device that was taken anew: CUPTI initialises no image of which it was not asked the size before.
Result<void> PmSession::make_image() {
  PmImage& image = configuration_.image;
  if (int code = image.make(library_, sampling_, configuration_.names, options_.samples_per_image);
      code != KVET_PM_SUCCESS) {
    return refused(image.step(), code);
  }
  taken_ = populated_ = 0;
  return {};
}

Result<void> PmSession::set_config() {
  KVET_PM_PARAMETERS(kvet_pm_set_config, append, set);
  set.sampling = sampling_;
  set.config_size = configuration_.config.size();
  set.config = configuration_.config.data();
  set.hardware_buffer_size = options_.hardware_buffer_bytes;
  set.sampling_interval = options_.interval_ns;
  set.trigger = KVET_PM_TRIGGER_TIME;
  // What is lost must be lost visibly: the newest samples, with CUPTI's overflow flag.
  set.append = KVET_PM_KEEP_OLDEST;
  int code = library_.set_config(&set);
  time_trigger_ = true;
  if (code == KVET_PM_NOT_SUPPORTED || code == KVET_PM_INVALID_PARAMETER) {
    set.trigger = KVET_PM_TRIGGER_SYSTEM_CLOCK;
    set.sampling_interval = static_cast<uint64_t>(static_cast<double>(options_.interval_ns) * system_clock_ghz);
    if (library_.set_config(&set) == KVET_PM_SUCCESS) {
      code = KVET_PM_SUCCESS;
      time_trigger_ = false;
    }
  }
  if (code != KVET_PM_SUCCESS) {
    return refused("cuptiPmSamplingSetConfig", code);
  }
  return {};
}

Result<void> PmSession::reset_image() {
  PmImage& image = configuration_.image;
  if (int code = image.reset(library_, sampling_, populated_); code != KVET_PM_SUCCESS) {
    return refused(image.step(), code);
  }
  taken_ = populated_ = 0;
  return {};
}

Result<void> PmSession::take_anew() {
  close();
  if (auto enabled = enable(); !enabled) {
    return enabled;
  }
  if (auto set = set_config(); !set) {
    return set;
  }
  return make_image();
}

Result<void> PmSession::start() {
  if (next_interval_ns_ != options_.interval_ns || sampling_ == nullptr) {
    options_.interval_ns = next_interval_ns_;
    if (auto anew = take_anew(); !anew) {
      return anew;
    }
  } else if (taken_ > 0 || populated_ > 0) {
    if (auto reset = reset_image(); !reset) {  // everything was decoded; a burst needs room
      return reset;
    }
  }
  KVET_PM_PARAMETERS(kvet_pm_object, sampling, object);
  object.sampling = sampling_;
  if (library_.start(&object) == KVET_PM_SUCCESS) {
    started_ = true;
    return {};
  }
  if (auto anew = take_anew(); !anew) {
    return anew;
  }
  object.sampling = sampling_;
  if (int code = library_.start(&object); code != KVET_PM_SUCCESS) {
    return refused("cuptiPmSamplingStart", code);
  }
  started_ = true;
  return {};
}

Result<void> PmSession::stop() {
  if (!started_) {
    return {};
  }
  started_ = false;
  KVET_PM_PARAMETERS(kvet_pm_object, sampling, object);
  object.sampling = sampling_;
  if (int code = library_.stop(&object); code != KVET_PM_SUCCESS) {
    return refused("cuptiPmSamplingStop", code);
  }
  return {};
}

Result<PmSession::Decoded> PmSession::decode(const std::function<void(const PmSample&)>& take) {
  PmImage& image = configuration_.image;
  KVET_PM_PARAMETERS(kvet_pm_decode, overflow, decode);
  decode.sampling = sampling_;
  decode.image = image.data();
  decode.image_size = image.size();
  if (sampling_ == nullptr) {
    return Decoded{};  // given back, and not to be had again
  }
  const uint64_t begun_ns = thread_processor_ns();
  const int code = library_.decode(&decode);
  const uint64_t decoded_ns = thread_processor_ns();
  decode_processor_ns_ += decoded_ns - begun_ns;
  // CUPTI says "out of memory" when the hardware buffer ran over; what was in it is decoded all the same.
  if (code != KVET_PM_SUCCESS && code != KVET_PM_OUT_OF_MEMORY) {
    return refused("cuptiPmSamplingDecodeData", code);
  }
  Decoded decoded;
  decoded.overflow = decode.overflow != 0 || code == KVET_PM_OUT_OF_MEMORY;
  decoded.more = decode.stop_reason == KVET_PM_DECODE_IMAGE_FULL;

  KVET_PM_PARAMETERS(kvet_pm_image_info, completed_samples, info);
  info.image = image.data();
  info.image_size = image.size();
  if (int failed = library_.get_image_info(&info); failed != KVET_PM_SUCCESS) {
    return refused("cuptiPmSamplingGetCounterDataInfo", failed);
  }
  for (size_t index = taken_; index < info.completed_samples; ++index) {
    KVET_PM_PARAMETERS(kvet_pm_sample_info, end_ns, times);
    times.sampling = sampling_;
    times.image = image.data();
    times.image_size = image.size();
    times.index = index;
    if (int failed = library_.get_sample_info(&times); failed != KVET_PM_SUCCESS) {
      return refused("cuptiPmSamplingCounterDataGetSampleInfo", failed);
    }
    KVET_PM_PARAMETERS(kvet_pm_host_evaluate, values, evaluate);
    evaluate.host = configuration_.host;
    evaluate.image = image.data();
    evaluate.image_size = image.size();
    evaluate.index = index;
    evaluate.metrics = configuration_.names.data();
    evaluate.metric_count = configuration_.names.size();
    evaluate.values = configuration_.values.data();
    if (int failed = library_.host_evaluate(&evaluate); failed != KVET_PM_SUCCESS) {
      return refused("cuptiProfilerHostEvaluateToGpuValues", failed);
    }
    take(PmSample{times.start_ns, times.end_ns, configuration_.values});
  }
  evaluate_processor_ns_ += thread_processor_ns() - decoded_ns;
  decoded.samples = info.completed_samples - std::min<size_t>(taken_, info.completed_samples);
  taken_ = info.completed_samples;
  populated_ = std::max(info.populated_samples, info.completed_samples);
  const bool between_samples = info.populated_samples == info.completed_samples;
  if (decoded.more || (between_samples && taken_ >= settle_at)) {
    if (auto reset = reset_image(); !reset) {
      return std::unexpected(reset.error());
    }
  }
  return decoded;
}

}  // namespace kvet::probes
