#include "export/device_metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace kvet::exporting {
namespace {

// nvmlClocksEventReasons (nvml.h).
struct ClockEvent {
  uint64_t bit;
  std::string_view name;
};
constexpr std::array clock_events{
    ClockEvent{0x1, "gpu_idle"},
    ClockEvent{0x2, "applications_clocks_setting"},
    ClockEvent{0x4, "sw_power_cap"},
    ClockEvent{0x8, "hw_slowdown"},
    ClockEvent{0x10, "sync_boost"},
    ClockEvent{0x20, "sw_thermal_slowdown"},
    ClockEvent{0x40, "hw_thermal_slowdown"},
    ClockEvent{0x80, "hw_power_brake_slowdown"},
    ClockEvent{0x100, "display_clock_setting"},
};

// The figures of a reading, in the metrics' units.
struct Figure {
  Known id;
  std::optional<double> (*of)(const DeviceReading&);
};
std::optional<double> scaled(const auto& value, double factor, double divisor) {
  return value ? std::optional(static_cast<double>(*value) * factor / divisor) : std::nullopt;
}
constexpr std::array figures{
    Figure{Known::power, [](const DeviceReading& reading) { return scaled(reading.power_milliwatts, 1, 1e3); }},
    Figure{Known::temperature, [](const DeviceReading& reading) { return scaled(reading.temperature_celsius, 1, 1); }},
    Figure{Known::sm_clock, [](const DeviceReading& reading) { return scaled(reading.sm_clock_mhz, 1e6, 1); }},
    Figure{Known::memory_clock, [](const DeviceReading& reading) { return scaled(reading.memory_clock_mhz, 1e6, 1); }},
    Figure{Known::sm_active,
           [](const DeviceReading& reading) { return scaled(reading.gpm_sm_active_percent, 1, 100); }},
    Figure{Known::sm_occupancy,
           [](const DeviceReading& reading) { return scaled(reading.gpm_sm_occupancy_percent, 1, 100); }},
    Figure{Known::dram_active, [](const DeviceReading& reading) { return scaled(reading.gpm_dram_percent, 1, 100); }},
};

void add_known(std::vector<Attribute>& attributes, std::string_view name, std::string_view value) {
  if (!value.empty()) {
    attributes.push_back({std::string{name}, std::string{value}});
  }
}

class DeviceMetrics {
 public:
  DeviceMetrics(MetricSet& set, const MetricsSource& source, DeviceId id)
      : set_(set), source_(source), capture_(*source.capture), device_(capture_.devices[id.value]), id_(id) {
    const std::string& model = capture_.text(device_.name);
    const std::string hardware = hardware_id(capture_, id);
    hardware_ = {{"hw.id", hardware}, {"hw.type", "gpu"}};
    add_known(hardware_, "hw.model", model);
    add_known(hardware_, "hw.driver_version", capture_.text(device_.driver_version));
    dcgm_ = {{"gpu", std::to_string(id.value)}};
    add_known(dcgm_, "UUID", hardware.starts_with("gpu") ? "" : hardware);
    add_known(dcgm_, "modelName", model);
    add_known(dcgm_, "Hostname", capture_.fact("hostname"));
    add_known(dcgm_, "DCGM_FI_DRIVER_VERSION", capture_.text(device_.driver_version));
  }

  void add_fixed() {
    if (id_.value < source_.busy.size() && source_.busy[id_.value]) {
      std::vector<Attribute> attributes = hardware_;
      attributes.push_back({"hw.gpu.task", "general"});
      set_.add(Known::gpu_utilization, std::move(attributes), *source_.busy[id_.value]);
      set_.add_dcgm(Known::gpu_utilization, dcgm_, *source_.busy[id_.value]);
    }
    if (device_.memory_bytes > 0) {
      add_both(Known::gpu_memory_limit, static_cast<double>(device_.memory_bytes));
    }
    if (device_.power_limit_milliwatts) {
      add_both(Known::power_limit, *device_.power_limit_milliwatts / 1e3);
    }
  }

  void add_readings(Readings readings) {
    for (const Figure& figure : figures) {
      double sum = 0;
      uint64_t count = 0;
      for (const DeviceReading& reading : capture_.device_readings) {
        const auto value = reading.device == id_ ? figure.of(reading) : std::nullopt;
        if (!value) {
          continue;
        }
        sum += *value;
        ++count;
        if (readings == Readings::every) {
          set_.add(figure.id, attributes_of(figure.id), *value, reading.time_ns);
        }
      }
      if (count > 0) {
        const double mean = sum / static_cast<double>(count);
        if (readings == Readings::mean) {
          set_.add(figure.id, attributes_of(figure.id), mean);
        }
        set_.add_dcgm(figure.id, dcgm_, mean);
      } else {
        add_from_findings(figure.id);
      }
    }
    add_clock_events();
  }

 private:
  void add_both(Known id, double value) {
    set_.add(id, hardware_, value);
    set_.add_dcgm(id, dcgm_, value);
  }

  // A temperature is a sensor's, and the sensor is part of the GPU.
  [[nodiscard]] std::vector<Attribute> attributes_of(Known id) const {
    if (id != Known::temperature) {
      return hardware_;
    }
    const std::string& gpu = hardware_.front().value;
    return {{"hw.id", gpu + "/temperature"}, {"hw.parent", gpu}, {"hw.temperature.sensor_location", "GPU"}};
  }

  // Where GPM was not read, kvet's own samples say the same of the whole device: DCGM's names get those.
  void add_from_findings(Known id) {
    const auto peak = static_cast<double>(device_.memory_bandwidth_bytes_per_s);
    const bool occupancy = id == Known::sm_occupancy, dram = id == Known::dram_active && peak > 0;
    const std::string label = fmt::format("device {}", id_.value);
    for (const Finding& finding : source_.findings) {
      if ((finding.beside == label || finding.beside.starts_with(label + ",")) && finding.value) {
        if (occupancy && finding.id == "occupancy.device") {
          set_.add_dcgm(id, dcgm_, *finding.value / 100);
        } else if (dram && finding.id == "dram.device") {
          set_.add_dcgm(id, dcgm_, *finding.value / peak);
        }
      }
    }
  }

  void add_clock_events() {
    std::array<uint64_t, clock_events.size()> counts{};
    uint64_t readings = 0, last = 0;
    for (const DeviceReading& reading : capture_.device_readings) {
      if (reading.device != id_ || !reading.throttle_reasons) {
        continue;
      }
      ++readings;
      last = *reading.throttle_reasons;
      for (size_t index = 0; index < clock_events.size(); ++index) {
        counts[index] += (last & clock_events[index].bit) != 0 ? 1 : 0;
      }
    }
    if (readings == 0) {
      return;
    }
    for (size_t index = 0; index < clock_events.size(); ++index) {
      std::vector<Attribute> attributes = hardware_;
      attributes.push_back({"kvet.reason", std::string{clock_events[index].name}});
      set_.add(Known::clock_event, std::move(attributes),
               static_cast<double>(counts[index]) / static_cast<double>(readings));
    }
    set_.add_dcgm(dcgm_clock_event_reasons, "Bits of nvmlClocksEventReasons in the last reading.", dcgm_,
                  static_cast<double>(last));
  }

  MetricSet& set_;
  const MetricsSource& source_;
  const Capture& capture_;
  const Device& device_;
  DeviceId id_;
  std::vector<Attribute> hardware_, dcgm_;
};

}  // namespace

std::string hardware_id(const Capture& capture, DeviceId id) {
  const Device& device = capture.devices[id.value];
  const auto& uuid = device.uuid;
  if (std::all_of(uuid.begin(), uuid.end(), [](uint8_t byte) { return byte == 0; })) {
    return fmt::format("gpu{}", id.value);
  }
  std::string out = device.mig ? "MIG" : "GPU";
  for (size_t index = 0; index < uuid.size(); ++index) {
    if (index == 0 || index == 4 || index == 6 || index == 8 || index == 10) {
      out += '-';
    }
    out += fmt::format("{:02x}", uuid[index]);
  }
  return out;
}

void add_device_metrics(MetricSet& set, const MetricsSource& source, Readings readings) {
  for (uint32_t id = 0; id < source.capture->devices.size(); ++id) {
    DeviceMetrics device(set, source, DeviceId{id});
    device.add_fixed();
    device.add_readings(readings);
  }
}

}  // namespace kvet::exporting
