// Figures of each device as a whole, over the part of the capture that counts: what the host + counters tier can say
// without executions, and what the clock did. They are a census of the samples, not an estimate, so they carry no interval.
#include <fmt/core.h>

#include <charconv>
#include <limits>

#include "model/facts.h"
#include "questions/make_finding.h"
#include "questions/occupancy_limits.h"
#include "questions/quality_parts.h"
#include "questions/sample_check.h"

namespace kvet::questions {
namespace {

// nvmlClocksEventReasons (nvml.h): software power cap, hardware slow-down, software and hardware thermal slow-down, power
// brake. The other bits are idle, application clocks, sync boost and display: nobody is held back by these.
constexpr uint64_t held_back = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

struct Sums {
  double time_ns = 0, cycles = 0, cycles_time_ns = 0, warp_cycles = 0, slot_cycles = 0, bytes = 0, bytes_time_ns = 0;
  uint64_t samples = 0;
  uint64_t readings = 0, throttled = 0;
};

void add(std::vector<Finding>& findings, Finding finding, const std::string& device) {
  finding.beside = device;
  findings.push_back(std::move(finding));
}

void add_device(std::vector<Finding>& findings, const Device& device, const std::string& name, const Sums& sums) {
  if (sums.slot_cycles > 0) {
    const double percent = 100 * sums.warp_cycles / sums.slot_cycles;
    add(findings,
        found(Question::occupancy, "occupancy.device", "", percent, "%", Evidence::measured, sums.samples,
              fmt::format("Everybody together occupied {:.1f}% of the warp slots (elapsed) in {:.3f} s of samples.",
                          percent, sums.time_ns / 1e9)),
        name);
  }
  if (sums.bytes_time_ns > 0) {
    const double per_second = 1e9 * sums.bytes / sums.bytes_time_ns;
    const auto peak = static_cast<double>(device.memory_bandwidth_bytes_per_s);
    add(findings,
        found(Question::dram, "dram.device", "", per_second, "bytes/s", Evidence::measured, sums.samples,
              fmt::format("Everybody together moved {:.1f} GB/s to and from DRAM{}.", per_second / 1e9,
                          peak > 0 ? fmt::format(", {:.1f}% of the theoretical peak", 100 * per_second / peak) : "")),
        name);
  }
  if (sums.cycles_time_ns > 0) {
    const double hertz = 1e9 * sums.cycles / sums.cycles_time_ns;
    add(findings,
        found(Question::capture, "device.sm_clock", "", hertz, "Hz", Evidence::measured, sums.samples,
              fmt::format("The SM clock of {} ran at {:.0f} MHz on average.", name, hertz / 1e6)),
        name);
  }
  if (sums.readings > 0) {
    const double percent = 100 * static_cast<double>(sums.throttled) / static_cast<double>(sums.readings);
    Finding finding = found(Question::capture, "device.throttled", "", percent, "%", Evidence::measured, sums.readings,
                            fmt::format("Power or heat held the clock of {} back in {:.1f}% of {} readings.", name,
                                        percent, sums.readings));
    if (sums.throttled > 0) {
      finding.advice =
          "times of this capture hold for these clocks: compare only with captures that were interleaved with it";
    }
    add(findings, std::move(finding), name);
  }
}

}  // namespace

std::string device_label(const Capture& capture, DeviceId device) {
  const std::string& name = capture.text(capture.devices[device.value].name);
  return fmt::format("device {}{}{}", device.value, name.empty() ? "" : ", ", name);
}

void add_device_figures(std::vector<Finding>& findings, const Capture& capture) {
  const int64_t from = time_fact(capture, "window.from_ns").value_or(std::numeric_limits<int64_t>::min());
  const int64_t to = time_fact(capture, "window.to_ns").value_or(std::numeric_limits<int64_t>::max());
  std::vector<Sums> sums(capture.devices.size());
  for (const Sample& sample : capture.samples) {
    if (sample.start_ns < from || sample.end_ns > to || sample.end_ns <= sample.start_ns ||
        !possible(sample, capture.devices[sample.device.value])) {
      continue;
    }
    Sums& of = sums[sample.device.value];
    const Device& device = capture.devices[sample.device.value];
    const auto length = static_cast<double>(sample.end_ns - sample.start_ns);
    of.time_ns += length;
    ++of.samples;
    if (sample.cycles_elapsed) {
      of.cycles += *sample.cycles_elapsed;
      of.cycles_time_ns += length;
      if (sample.warp_cycles) {
        const auto limits = sm_limits(device);
        const uint32_t slots = device.max_warps_per_multiprocessor != 0 ? device.max_warps_per_multiprocessor
                               : limits                                 ? limits->warps
                                                                        : 0;
        of.warp_cycles += *sample.warp_cycles;
        of.slot_cycles += *sample.cycles_elapsed * slots * device.multiprocessors;
      }
    }
    if (sample.dram_read_bytes && sample.dram_write_bytes) {
      of.bytes += *sample.dram_read_bytes + *sample.dram_write_bytes;
      of.bytes_time_ns += length;
    }
  }
  for (const DeviceReading& reading : capture.device_readings) {
    if (reading.throttle_reasons && reading.time_ns >= from && reading.time_ns <= to) {
      ++sums[reading.device.value].readings;
      sums[reading.device.value].throttled += (*reading.throttle_reasons & held_back) != 0 ? 1 : 0;
    }
  }
  for (uint32_t id = 0; id < capture.devices.size(); ++id) {
    add_device(findings, capture.devices[id], device_label(capture, DeviceId{id}), sums[id]);
  }
}

}  // namespace kvet::questions
