// Performance-monitor sampling of one GPU: CUPTI's calls in their order, behind plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/counters/metric_set.h"
#include "probes/counters/pm_image.h"
#include "probes/counters/vendor_libraries.h"

namespace kvet::probes {

struct PmOptions {
  // With the metrics that only add detail (instructions, tensor cycles, L2 sectors) sampling costs half as much again.
  bool detail = false;
  uint64_t interval_ns = 100'000;
  // What the driver sets aside for raw samples while nobody decodes them: a second of them and more. It counts as
  // this process's memory.
  size_t hardware_buffer_bytes = 128u << 20;
  // Capacity of the image that samples are decoded into. On an H200 it takes 32 KB a sample with fifteen metrics: 4,096
  // take 134 MB, two thirds of it without detail, and hold 0.4 s at 100 µs: a process that creates a context keeps every
  // other one's calls waiting for 0.2 s.
  uint32_t samples_per_image = 4096;
};

struct PmSample {
  uint64_t start_ns, end_ns;
  const std::vector<double>& values;  // in the order of metrics()
};

class PmSession {
 public:
  // Chooses metrics and configures the hardware; nothing is sampled yet. `device_index`: CUDA's ordinal. Errors are
  // unavailable; `what` is a sentence for the user (refusal.h).
  static Result<std::unique_ptr<PmSession>> open(const PmLibrary& library, size_t device_index,
                                                 const PmOptions& options);
  PmSession(const PmSession&) = delete;
  PmSession& operator=(const PmSession&) = delete;
  ~PmSession();

  // Where CUPTI will not start again (error 999 after an overflow, and where samples are still to be decoded, on an
  // H200), the device is given back and taken anew; what was not decoded is then lost.
  Result<void> start();
  Result<void> stop();
  void close();  // gives the device back; nothing can be started or decoded any more
  // For the next start, which then takes the device anew: CUPTI says yes to another configuration of a device that was
  // configured, and goes on with the old one. That takes 0.17 s on an H200. Call it stopped, with everything decoded.
  void set_interval(uint64_t interval_ns) { next_interval_ns_ = interval_ns; }

  struct Decoded {
    size_t samples = 0;
    bool more = false;  // the image was full: decode again at once
    bool overflow = false;  // the hardware buffer was full: samples are lost until a stop and a start
  };
  // Hands out what the hardware has sampled since the last call, at most samples_per_image. CUPTI appends to its image,
  // which is emptied only when no sample in it waits for some unit's counts: an image that runs full, or is emptied
  // earlier, loses samples (20 ms of them at 100 µs on an H200).
  Result<Decoded> decode(const std::function<void(const PmSample&)>& take);
  // The image should be emptied, and a sample in it was incomplete: decode again in a moment.
  [[nodiscard]] bool unsettled() const { return taken_ >= settle_at; }
  [[nodiscard]] bool nearly_full() const { return taken_ + taken_ / 2 >= options_.samples_per_image; }

  // What decoding and evaluating took of a processor, in calls of decode().
  [[nodiscard]] uint64_t decode_processor_ns() const { return decode_processor_ns_; }
  [[nodiscard]] uint64_t evaluate_processor_ns() const { return evaluate_processor_ns_; }

  [[nodiscard]] const std::vector<Metric>& metrics() const { return configuration_.metrics; }
  [[nodiscard]] const std::string& chip() const { return chip_; }
  [[nodiscard]] bool time_trigger() const { return time_trigger_; }  // false: every so many cycles of a varying clock

 private:
  // One choice of metrics with all that CUPTI needs for it.
  struct Configuration {
    std::vector<Metric> metrics;
    std::vector<const char*> names;
    void* host = nullptr;
    std::vector<uint8_t> config;  // CUPTI goes on reading it
    PmImage image;
    std::vector<double> values;
  };
  PmSession(const PmLibrary& library, const PmOptions& options) : library_(library), options_(options) {}
  Result<void> set_up(size_t device_index);
  Result<void> enable();
  Result<void> configure(std::vector<Metric> metrics);
  Result<void> set_config();
  Result<void> take_anew();
  [[nodiscard]] std::optional<size_t> passes(const std::vector<const char*>& names) const;
  [[nodiscard]] Result<std::vector<uint8_t>> config_image(void* host, const std::vector<const char*>& names) const;
  [[nodiscard]] void* new_host() const;  // null where CUPTI refuses
  void free_host(void* host) const;
  Result<void> make_image();
  Result<void> reset_image();
  [[nodiscard]] std::unexpected<Error> refused(const char* step, int code) const;

  const PmLibrary& library_;
  PmOptions options_;
  std::string chip_;
  std::vector<uint8_t> availability_;
  Configuration configuration_;
  void* sampling_ = nullptr;
  size_t device_index_ = 0;
  uint64_t next_interval_ns_ = 0;  // what the next start is to sample at; options_.interval_ns is configured
  bool started_ = false, time_trigger_ = true;
  uint64_t decode_processor_ns_ = 0, evaluate_processor_ns_ = 0;
  // Emptied after nearly every decoding: what is in use stays small, and the rest is room for a delay.
  static constexpr size_t settle_at = 128;
  size_t populated_ = 0;  // samples that the image has begun
  size_t taken_ = 0;  // samples of the image that were handed out
};

}  // namespace kvet::probes
