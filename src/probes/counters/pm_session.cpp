#include "probes/counters/pm_session.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "probes/counters/refusal.h"

namespace kvet::probes {
namespace {

// A parameter structure with its size filled in, as every CUPTI call wants it. (Types and names take no parentheses.)
#define KVET_PM_PARAMETERS(type, last, variable)         \
  struct type variable{}; /* NOLINT(bugprone-macro-*) */ \
  (variable).struct_size = KVET_PM_SIZE(type, last)

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
  if (sampling_ != nullptr) {
    [[maybe_unused]] auto stopped = stop();
    KVET_PM_PARAMETERS(kvet_pm_object, sampling, disable);
    disable.sampling = sampling_;
    library_.disable(&disable);
  }
  free_host(host_);
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
  Result<void> configured;
  for (MetricGroup up_to = MetricGroup::detail;; up_to = static_cast<MetricGroup>(static_cast<uint8_t>(up_to) - 1)) {
    metrics_ = choose_metrics([this](const std::vector<const char*>& names) { return passes(names); }, up_to);
    if (metrics_.empty()) {
      return refused("cuptiProfilerHostConfigAddMetrics", KVET_PM_NOT_SUPPORTED);
    }
    configured = configure();
    if (configured || up_to == MetricGroup::basic) {
      return configured;
    }
  }
}

Result<void> PmSession::configure() {
  names_ = names_of(metrics_);
  free_host(host_);
  host_ = new_host();
  if (host_ == nullptr) {
    return refused("cuptiProfilerHostInitialize", KVET_PM_INVALID_CHIP_NAME);
  }
  auto config = config_image(host_, names_);
  if (!config) {
    return std::unexpected(config.error());
  }
  // CUPTI keeps the pointer and reads the configuration again while it decodes: it must live as long as the session.
  config_ = std::move(*config);
  if (auto set = set_config(); !set) {
    return set;
  }
  values_.assign(names_.size(), 0);
  return make_image();
}

Result<size_t> PmSession::image_size(uint32_t samples) const {
  std::vector<const char*> names = names_;
  KVET_PM_PARAMETERS(kvet_pm_image_size, image_size, size);
  size.sampling = sampling_;
  size.metrics = names.data();
  size.metric_count = names.size();
  size.max_samples = samples;
  if (int code = library_.get_image_size(&size); code != KVET_PM_SUCCESS) {
    return refused("cuptiPmSamplingGetCounterDataSize", code);
  }
  return size.image_size;
}

Result<void> PmSession::make_image() {
  const uint32_t samples = options_.samples_per_image;
  const auto size = image_size(samples);
  if (!size) {
    return std::unexpected(size.error());
  }
  const auto half = image_size(samples / 2);
  bytes_per_sample_ = half && *half < *size ? (*size - *half) / (samples - samples / 2) : 0;
  image_.assign(*size, 0);
  if (auto initialized = initialize_image(); !initialized) {
    return initialized;
  }
  pristine_ = image_;
  copy_back_ = bytes_per_sample_ > 0;
  resets_to_check_ = 3;
  return {};
}

Result<void> PmSession::set_config() {
  KVET_PM_PARAMETERS(kvet_pm_set_config, append, set);
  set.sampling = sampling_;
  set.config_size = config_.size();
  set.config = config_.data();
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

Result<void> PmSession::initialize_image() {
  KVET_PM_PARAMETERS(kvet_pm_image_initialize, image, initialize);
  initialize.sampling = sampling_;
  initialize.image_size = image_.size();
  initialize.image = image_.data();
  if (int code = library_.image_initialize(&initialize); code != KVET_PM_SUCCESS) {
    return refused("cuptiPmSamplingCounterDataImageInitialize", code);
  }
  taken_ = populated_ = 0;
  return {};
}

Result<void> PmSession::reset_image() {
  if (!copy_back_) {
    return initialize_image();
  }
  // Samples lie at the end of the image, one after the other, behind tables whose size depends on the capacity alone. A
  // few samples more than were begun cover what the tables take of the average.
  constexpr size_t margin = 4;
  const size_t unused = options_.samples_per_image - std::min<size_t>(options_.samples_per_image, populated_ + margin);
  const size_t used_bytes = image_.size() - std::min(image_.size(), unused * bytes_per_sample_);
  std::memcpy(image_.data(), pristine_.data(), used_bytes);
  if (resets_to_check_ > 0) {
    --resets_to_check_;
    if (image_ != pristine_) {
      copy_back_ = false;
      return initialize_image();
    }
  }
  taken_ = populated_ = 0;
  return {};
}

Result<void> PmSession::take_anew() {
  KVET_PM_PARAMETERS(kvet_pm_object, sampling, object);
  object.sampling = sampling_;
  library_.disable(&object);
  sampling_ = nullptr;
  Result<void> done = enable();
  if (done) {
    done = set_config();
  }
  return done ? initialize_image() : done;
}

Result<void> PmSession::start() {
  Result<void> configured;
  if (taken_ > 0) {
    configured = reset_image();  // everything was decoded; a burst needs room
  }
  if (configured && next_interval_ns_ != options_.interval_ns) {
    options_.interval_ns = next_interval_ns_;
    configured = set_config();
  }
  KVET_PM_PARAMETERS(kvet_pm_object, sampling, object);
  object.sampling = sampling_;
  if (configured && library_.start(&object) == KVET_PM_SUCCESS) {
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
  KVET_PM_PARAMETERS(kvet_pm_decode, overflow, decode);
  decode.sampling = sampling_;
  decode.image = image_.data();
  decode.image_size = image_.size();
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
  info.image = image_.data();
  info.image_size = image_.size();
  if (int failed = library_.get_image_info(&info); failed != KVET_PM_SUCCESS) {
    return refused("cuptiPmSamplingGetCounterDataInfo", failed);
  }
  for (size_t index = taken_; index < info.completed_samples; ++index) {
    KVET_PM_PARAMETERS(kvet_pm_sample_info, end_ns, times);
    times.sampling = sampling_;
    times.image = image_.data();
    times.image_size = image_.size();
    times.index = index;
    if (int failed = library_.get_sample_info(&times); failed != KVET_PM_SUCCESS) {
      return refused("cuptiPmSamplingCounterDataGetSampleInfo", failed);
    }
    KVET_PM_PARAMETERS(kvet_pm_host_evaluate, values, evaluate);
    evaluate.host = host_;
    evaluate.image = image_.data();
    evaluate.image_size = image_.size();
    evaluate.index = index;
    evaluate.metrics = names_.data();
    evaluate.metric_count = names_.size();
    evaluate.values = values_.data();
    if (int failed = library_.host_evaluate(&evaluate); failed != KVET_PM_SUCCESS) {
      return refused("cuptiProfilerHostEvaluateToGpuValues", failed);
    }
    take(PmSample{times.start_ns, times.end_ns, values_});
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
