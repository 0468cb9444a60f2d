// The recorder's side of counter sampling. The sampling itself happens in a child process (`kvet __sampler`), because it
// loads NVIDIA's libraries: if they crash or hang there, the capture goes on and says what it lost.
//
// Use, from one thread:
//   auto sampler = SamplerClient::start(options, directory);
//   (*sampler)->wait_ready(sink, 5s);            // optional: before the target starts, so that no launch is missed
//   loop: poll(2) on descriptor(), or every few ms; (*sampler)->poll(sink);
//   (*sampler)->stop(sink, 5s);                  // drains, emits the facts counters.* and driver_version
//   (*sampler)->status();                        // "ok", or why counters are missing and what to do
// Nothing here blocks longer than the limit it is given.
//
// Samples carry raw times. Put a clocks::AligningSink in front of the capture file for the whole recording and call its
// align() after stop() and after the last execution: it finds the mapping to CLOCK_MONOTONIC from what passed through.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/event_sink.h"
#include "probes/counters/burst_schedule.h"
#include "probes/device_directory.h"

namespace kvet::probes {

enum class CounterMode : uint8_t {
  performance_monitor,  // "pm": hardware counters every interval; falls back to gpm, then to off, and says so
  gpm,  // "gpm": NVML's GPM, once per max(interval, 100 ms)
  off,  // "off": NVML readings only (power, clocks, temperature, throttle reasons)
};
[[nodiscard]] const char* name(CounterMode mode);  // as in the fact counters.mode

struct SamplerOptions {
  CounterMode mode = CounterMode::performance_monitor;
  int64_t interval_ns = 100'000;  // 2,000 (2 µs) to 1,000,000,000
  BurstPlan bursts;  // left out where the interval is not longer than theirs; at most 10 ms each
  bool detail = false;  // instructions, tensor cycles and L2 sectors, too
  // More places to look for libcupti (folders or files): what the target has mapped, a Python package's
  // nvidia/cu13/lib. The search: $KVET_CUPTI_PATH, the loader's own search, /usr/local/cuda*, then these.
  std::vector<std::string> library_paths;
  // Sampled GPUs, by UUID; empty: all.
  std::vector<DeviceDirectory::Uuid> devices;
  // Short kernels of the sampler's own before wait_ready() returns and after stop() was called, 2 ms of GPU time each, that
  // fix the samples' clock (clocks/pulse_fit.h).
  bool pulses = true;
  // GPM readings once per second beside performance-monitor samples, to hold the one against the other.
  bool gpm_cross_check = true;
  // The program that is started, with "__sampler" as its first argument. Tests put a fake here.
  std::string program = "/proc/self/exe";
};

class SamplerClient {
 public:
  // Starts the child. An error only for what the caller did wrong (an interval out of range) or when no process can be
  // made; a machine without GPU or libcupti is no error: status() says so.
  static Result<std::unique_ptr<SamplerClient>> start(const SamplerOptions& options, DeviceDirectory& directory);
  virtual ~SamplerClient() = default;  // ends the child at once if it still runs

  // Hands on whatever has arrived: Device, Sample (raw times of ClockSource::counters), DeviceReading, Loss, and a first,
  // coarse ClockMapping per device. Never blocks.
  virtual void poll(EventSink& sink) = 0;
  // Polls until every GPU was tried or the limit is over. True: at least one GPU delivers samples.
  virtual bool wait_ready(EventSink& sink, std::chrono::milliseconds limit) = 0;
  // Asks the child to stop and to hand over what it has, polls until it ended or the limit is over, and then emits the
  // facts (meta keys) `counters.mode` (as achieved), `counters.interval_ns`, `counters.status`, `counters.metrics`,
  // `counters.processor_time_ns` (and how much of it CUPTI decoded and evaluated), `counters.bursts`, `counters.paused_ns`
  // and `driver_version`.
  // `pulses` false: none at the end, whatever the options say (the target lives on).
  virtual void stop(EventSink& sink, std::chrono::milliseconds limit, bool pulses = true) = 0;

  [[nodiscard]] virtual int descriptor() const = 0;  // for poll(2); −1 once the child has ended
  [[nodiscard]] virtual bool sampling() const = 0;  // at least one GPU delivers samples now
  [[nodiscard]] virtual CounterMode achieved_mode() const = 0;
  [[nodiscard]] virtual std::string status() const = 0;  // "ok" or a sentence
  [[nodiscard]] virtual uint64_t samples() const = 0;  // handed on so far
};

}  // namespace kvet::probes
