#include "store/clock.h"

#include <algorithm>
#include <cmath>

#include "store/schema.h"

namespace kvet::store {
namespace {

// Exact in whole nanoseconds: a double has 53 bits, so only the small drift term goes through one.
int64_t mapped(const ClockMapping& mapping, int64_t raw_ns) {
  const double drift = mapping.drift_ns_per_s * (static_cast<double>(raw_ns - mapping.from_ns) / 1e9);
  return raw_ns + mapping.offset_ns + std::llround(drift);
}

bool in_range(int64_t time_ns) { return time_ns >= -time_limit_ns && time_ns <= time_limit_ns; }

template <class Row>
void sort_by_start(std::vector<Row>& rows) {
  auto earlier = [](const Row& a, const Row& b) { return a.start_ns < b.start_ns; };
  if (!std::ranges::is_sorted(rows, earlier)) {
    std::ranges::stable_sort(rows, earlier);
  }
}

}  // namespace

ClockLine::ClockLine(const std::vector<ClockMapping>& mappings, ClockSource source, std::optional<DeviceId> device) {
  // A mapping of this very device goes before one of all devices.
  const bool own = std::ranges::any_of(
      mappings, [&](const ClockMapping& m) { return m.source == source && m.device && m.device == device; });
  for (const ClockMapping& mapping : mappings) {
    if (mapping.source == source && (own ? mapping.device == device : !mapping.device)) {
      pieces_.push_back(mapping);
    }
  }
  std::ranges::stable_sort(pieces_, {}, &ClockMapping::from_ns);
}

const ClockMapping* ClockLine::piece(int64_t raw_ns) const {
  if (pieces_.empty()) {
    return nullptr;
  }
  auto after = std::ranges::upper_bound(pieces_, raw_ns, {}, &ClockMapping::from_ns);
  return after == pieces_.begin() ? &*after : &*std::prev(after);
}

bool ClockLine::apply(int64_t& start_ns, int64_t& end_ns) const {
  const ClockMapping* mapping = piece(start_ns);
  if (mapping == nullptr) {
    return true;
  }
  start_ns = mapped(*mapping, start_ns);
  end_ns = std::max(start_ns, mapped(*mapping, end_ns));
  return in_range(start_ns) && in_range(end_ns);
}

Result<void> apply_clocks(Capture& capture) {
  const ClockLine activity{capture.clock_mappings, ClockSource::activity, {}};
  const ClockLine imported{capture.clock_mappings, ClockSource::imported, {}};
  const ClockLine host{capture.clock_mappings, ClockSource::host, {}};
  // A file that was imported as a whole brings its own clock, and a mapping that says so.
  const bool is_imported = std::ranges::any_of(capture.clock_mappings,
                                               [](const ClockMapping& m) { return m.source == ClockSource::imported; });
  const ClockLine& device = is_imported ? imported : activity;

  bool good = true;
  auto map_all = [&](auto& rows, const ClockLine& line) {
    for (auto& row : rows) {
      good = line.apply(row.start_ns, row.end_ns) && good;
    }
  };
  map_all(capture.executions, device);
  map_all(capture.transfers, device);
  map_all(capture.ranges, device);
  for (ApiCall& call : capture.api_calls) {
    const ClockLine& line = call.source == Source::uprobe ? host : call.source == Source::imported ? imported : device;
    good = line.apply(call.start_ns, call.end_ns) && good;
  }
  map_all(capture.collective_calls, host);
  for (OffCpu& off : capture.off_cpu) {
    int64_t start = off.start_ns;
    good = host.apply(start, off.wake_ns) && good;
    good = host.apply(off.start_ns, off.end_ns) && good;
  }
  for (uint32_t id = 0; id < capture.devices.size(); ++id) {
    const ClockLine counters{capture.clock_mappings, ClockSource::counters, DeviceId{id}};
    for (Sample& sample : capture.samples) {
      if (sample.device.value == id) {
        good = counters.apply(sample.start_ns, sample.end_ns) && good;
      }
    }
  }
  if (!good) {
    return fail(ErrorKind::bad_input, "a clock mapping leads to times that are out of range", capture.path,
                "the capture is damaged: record again");
  }

  sort_by_start(capture.executions);
  sort_by_start(capture.transfers);
  sort_by_start(capture.ranges);
  sort_by_start(capture.api_calls);
  sort_by_start(capture.collective_calls);
  sort_by_start(capture.off_cpu);
  sort_by_start(capture.samples);
  std::ranges::stable_sort(capture.device_readings, {}, &DeviceReading::time_ns);
  std::ranges::stable_sort(capture.communicators, {}, &Communicator::created_ns);
  return {};
}

}  // namespace kvet::store
