// Counters of each device: occupancy, DRAM, clock, power; when its memory was saturated, and when nobody looked.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "questions/dram_parts.h"
#include "questions/saturation.h"
#include "questions/sm_limits.h"
#include "questions/tracks_parts.h"

namespace kvet::questions {
namespace {

using Read = std::function<std::optional<double>(const Sample&)>;

double seconds(const Sample& sample) { return static_cast<double>(sample.end_ns - sample.start_ns) / 1e9; }

// One track with the value of each sample that has one; no track where none has.
void tell_counter(TrackBook& book, DeviceId device, const DeviceSamples& samples, const char* name, const char* unit,
                  const Read& read) {
  std::optional<TrackId> track;
  for (const Sample* sample : samples.samples) {
    const std::optional<double> value = read(*sample);
    if (!value || !std::isfinite(*value)) {
      continue;
    }
    if (!track) {
      track = book.make(book.device(device), TrackKind::counter, name, unit);
    }
    book.sink.on(TimelineCounter{*track, sample->start_ns, *value});
  }
}

void tell_spans(TrackBook& book, DeviceId device, TrackKind kind, const char* track_name, const TimelineName* name,
                const char* category, const std::vector<Span>& spans) {
  if (spans.empty()) {
    return;
  }
  const TrackId track = book.make(book.device(device), kind, track_name);
  for (const Span& span : spans) {
    book.sink.on(TimelineSlice{track, span.from, span.to, name, category, {}, {}, std::nullopt});
  }
}

void tell_dram(TrackBook& book, DeviceId device, const DeviceSamples& samples) {
  auto rate = [](Direction direction) {
    return [direction](const Sample& sample) -> std::optional<double> {
      const auto bytes = dram_bytes(sample, direction);
      return bytes ? std::optional{*bytes / seconds(sample)} : std::nullopt;
    };
  };
  tell_counter(book, device, samples, "DRAM read", "bytes/s", rate(Direction::read));
  tell_counter(book, device, samples, "DRAM write", "bytes/s", rate(Direction::write));
  const Device& of = book.capture.devices[device.value];
  const auto peak = static_cast<double>(of.memory_bandwidth_bytes_per_s);
  tell_counter(book, device, samples, "DRAM, of theoretical peak", "%", [&](const Sample& sample) {
    const auto bytes = dram_bytes(sample, Direction::both);
    return bytes && peak > 0 ? std::optional{100 * *bytes / seconds(sample) / peak} : std::nullopt;
  });
  const ReachableBandwidth reachable(book.capture, of);
  std::vector<Span> saturated;
  for (const Sample* sample : samples.samples) {
    if (reachable.saturated(*sample).value_or(false)) {
      saturated.push_back({sample->start_ns, sample->end_ns});
    }
  }
  tell_spans(
      book, device, TrackKind::saturation, "DRAM saturated",
      book.name(reachable.calibrated() ? "saturated (calibrated)" : "saturated (of 92% of the theoretical peak)"),
      "saturation", SpanSet{std::move(saturated)}.spans());
}

void tell_readings(TrackBook& book, DeviceId device) {
  auto tell = [&](const char* name, const char* unit, auto read) {
    std::optional<TrackId> track;
    for (const DeviceReading& reading : book.capture.device_readings) {
      const std::optional<double> value = reading.device == device ? read(reading) : std::nullopt;
      if (!value) {
        continue;
      }
      if (!track) {
        track = book.make(book.device(device), TrackKind::counter, name, unit);
      }
      book.sink.on(TimelineCounter{*track, reading.time_ns, *value});
    }
  };
  tell("Power", "W", [](const DeviceReading& reading) -> std::optional<double> {
    return reading.power_milliwatts ? std::optional{*reading.power_milliwatts / 1e3} : std::nullopt;
  });
  tell("SM clock (NVML)", "MHz", [](const DeviceReading& reading) -> std::optional<double> {
    return reading.sm_clock_mhz ? std::optional{static_cast<double>(*reading.sm_clock_mhz)} : std::nullopt;
  });
}

void tell_device(TrackBook& book, DeviceId device, bool worked) {
  const DeviceSamples samples = device_samples(book.capture, device);
  const double slots = warp_slots(book.capture.devices[device.value]);
  tell_counter(book, device, samples, "SM occupancy", "%", [&](const Sample& sample) -> std::optional<double> {
    if (!sample.warp_cycles || !sample.cycles_elapsed || *sample.cycles_elapsed <= 0 || slots <= 0) {
      return std::nullopt;
    }
    return 100 * *sample.warp_cycles / (*sample.cycles_elapsed * slots);
  });
  tell_kernel_counters(book, device, samples);
  tell_dram(book, device, samples);
  tell_counter(book, device, samples, "SM clock", "MHz", [](const Sample& sample) -> std::optional<double> {
    return sample.cycles_elapsed ? std::optional{*sample.cycles_elapsed / seconds(sample) / 1e6} : std::nullopt;
  });
  tell_readings(book, device);
  if (!samples.samples.empty() || worked) {
    const TimelineName* name =
        book.name(samples.samples.empty() ? "no samples: " + samples.reason : "no samples: the counters are unknown");
    tell_spans(book, device, TrackKind::unsampled, "Counters not sampled", name, "gap",
               unsampled(book.clock, samples.samples));
  }
}

}  // namespace

std::vector<Span> unsampled(const TimelineClock& clock, const std::vector<const Sample*>& samples) {
  std::vector<Span> gaps;
  int64_t until = clock.first_ns;
  auto gap = [&](int64_t to, int64_t tolerance) {
    if (to > until + tolerance) {
      gaps.push_back({until, to});
    }
  };
  for (const Sample* sample : samples) {
    // A hundredth of the length: rounding of time stamps.
    gap(sample->start_ns, (sample->end_ns - sample->start_ns) / 100);
    until = std::max(until, sample->end_ns);
  }
  gap(clock.last_ns, 0);
  return gaps;
}

void tell_counters(TrackBook& book) {
  std::vector<bool> worked(book.capture.devices.size());
  for (const Execution& execution : book.capture.executions) {
    worked[execution.device.value] = true;
  }
  for (uint32_t device = 0; device < book.capture.devices.size(); ++device) {
    tell_device(book, DeviceId{device}, worked[device]);
  }
}

}  // namespace kvet::questions
