// Turns the sampler's messages (abi/counters.h) into events and into a sentence about what became of the counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/counters.h"
#include "base/result.h"
#include "model/event_sink.h"
#include "probes/counters/sampler_client.h"
#include "probes/device_directory.h"

namespace kvet::probes {

class MessageDecoder {
 public:
  MessageDecoder(DeviceDirectory& directory, CounterMode asked) : directory_(directory), asked_(asked) {}

  // Takes the next bytes of the stream, cut anywhere. An error means that the stream cannot be followed any further.
  Result<void> feed(EventSink& sink, std::span<const std::byte> bytes);

  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool sampling() const;
  [[nodiscard]] uint64_t samples() const { return samples_; }
  [[nodiscard]] const kvet_sampler_end& end() const { return end_; }  // zeros before ended()
  [[nodiscard]] CounterMode achieved_mode() const;
  [[nodiscard]] std::string status() const;   // "ok" or why not, naming the GPU where there are several
  [[nodiscard]] std::string metrics() const;  // of the first GPU that is sampled; "" where none is
  [[nodiscard]] const std::string& driver_version() const { return driver_version_; }

 private:
  struct Gpu {
    DeviceId id;
    uint32_t state = 0;         // enum kvet_sampler_state without DEGRADED; 0: not tried yet
    std::string metrics;        // while sampling
    std::string trouble;        // what is wrong, if anything
    int64_t clock_offset_ns = 0;  // coarse: CLOCK_MONOTONIC − raw
  };

  Result<void> message(EventSink& sink, std::span<const std::byte> bytes);
  void on_device(EventSink& sink, const kvet_sampler_device& device);
  void on_clock(EventSink& sink, const kvet_sampler_clock& clock, Gpu& gpu);
  void on_anchor(EventSink& sink, const kvet_sampler_anchor& anchor, const Gpu& gpu);
  void on_sample(EventSink& sink, const kvet_sampler_sample& sample, const Gpu& gpu);
  void on_reading(EventSink& sink, const kvet_sampler_reading& reading, const Gpu& gpu);
  void on_loss(EventSink& sink, const kvet_sampler_loss& loss, const Gpu& gpu);
  void on_status(const kvet_sampler_status& status);

  DeviceDirectory& directory_;
  CounterMode asked_;
  std::vector<std::byte> pending_;  // the beginning of a message whose end has not come yet
  std::map<uint32_t, Gpu> gpus_;    // by the sampler's index
  std::string trouble_;             // of all devices together
  bool hello_ = false, ready_ = false, ended_ = false;
  uint64_t samples_ = 0;
  kvet_sampler_end end_{};
  std::string driver_version_;
  std::array<std::string, 2> anchors_;  // what pulses said, by moment, all GPUs
};

}  // namespace kvet::probes
