#include "merge/merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "model/facts.h"

namespace kvet::merge {
namespace {

const char* name(LinkedBy by) {
  switch (by) {
    case LinkedBy::itself: return "reference";
    case LinkedBy::boot: return "boot";
    case LinkedBy::collectives: return "collectives";
    case LinkedBy::wall_clock: return "wall_clock";
  }
  return "";
}

// Devices of all captures: the same UUID is the same GPU, also where two recorders of one host saw it.
class Devices {
 public:
  DeviceId of(const Device& device) {
    if (device.uuid != std::array<uint8_t, 16>{}) {
      if (const auto known = by_uuid_.find(device.uuid); known != by_uuid_.end()) {
        return known->second;
      }
    }
    const DeviceId id{next_++};
    by_uuid_.emplace(device.uuid, id);
    return id;
  }

 private:
  std::map<std::array<uint8_t, 16>, DeviceId> by_uuid_;
  uint32_t next_ = 0;
};

// One capture on its way into the sink: its ids and times become those of all.
class Translator {
 public:
  Translator(const Capture& capture, const HostClock& clock, EventSink& sink)
      : capture_(capture), clock_(clock), sink_(sink) {}

  void define(uint32_t first_process, uint32_t first_shape, Devices& devices, const std::string& host);
  void events();

 private:
  [[nodiscard]] StringId text(StringId id) const { return strings_[id.value]; }
  [[nodiscard]] ProcessId process(ProcessId id) const { return {id.value + first_process_}; }
  [[nodiscard]] int64_t time(int64_t time_ns) const { return clock_.to_reference(time_ns); }
  template <class Row>
  void place(Row& row) const {
    row.start_ns = time(row.start_ns);
    row.end_ns = std::max(row.start_ns, time(row.end_ns));
  }
  template <class Row>
  void send(const std::vector<Row>& rows, auto change) {
    for (Row row : rows) {
      change(row);
      sink_.on(row);
    }
  }

  const Capture& capture_;
  const HostClock& clock_;
  EventSink& sink_;
  std::vector<StringId> strings_;
  std::vector<DeviceId> devices_;
  uint32_t first_process_ = 0, first_shape_ = 0;
};

void Translator::define(uint32_t first_process, uint32_t first_shape, Devices& devices, const std::string& host) {
  first_process_ = first_process;
  first_shape_ = first_shape;
  for (const std::string& each : capture_.strings) {
    strings_.push_back(sink_.intern(each));
  }
  for (Process row : capture_.processes) {
    row.id = process(row.id);
    // Process ids repeat from host to host; a name with its host does not.
    row.name = host.empty() ? text(row.name) : sink_.intern(capture_.text(row.name) + "@" + host);
    row.command_line = text(row.command_line);
    row.start_ns = time(row.start_ns);
    if (row.end_ns) {
      row.end_ns = time(*row.end_ns);
    }
    sink_.on(row);
  }
  for (Device row : capture_.devices) {
    row.id = devices.of(row);
    devices_.push_back(row.id);
    row.name = text(row.name);
    row.driver_version = text(row.driver_version);
    sink_.on(row);
  }
  for (KernelShape row : capture_.shapes) {
    row.id.value += first_shape_;
    row.name = text(row.name);
    sink_.on(row);
  }
}

void Translator::events() {
  const auto device = [&](DeviceId id) { return devices_[id.value]; };
  send(capture_.contexts, [&](Context& row) {
    row.process = process(row.process);
    row.device = device(row.device);
  });
  send(capture_.api_calls, [&](ApiCall& row) {
    row.process = process(row.process);
    place(row);
  });
  send(capture_.executions, [&](Execution& row) {
    row.process = process(row.process);
    row.device = device(row.device);
    row.shape.value += first_shape_;
    place(row);
  });
  send(capture_.transfers, [&](Transfer& row) {
    row.process = process(row.process);
    row.device = device(row.device);
    place(row);
  });
  send(capture_.ranges, [&](Range& row) {
    row.process = process(row.process);
    row.name = text(row.name);
    row.domain = text(row.domain);
    place(row);
  });
  send(capture_.off_cpu, [&](OffCpu& row) {
    row.process = process(row.process);
    row.taker_name = text(row.taker_name);
    row.wake_ns = time(row.wake_ns);
    place(row);
    row.wake_ns = std::clamp(row.wake_ns, row.start_ns, row.end_ns);
  });
  send(capture_.collective_calls, [&](CollectiveCall& row) {
    row.process = process(row.process);
    place(row);
  });
  send(capture_.communicators, [&](Communicator& row) {
    row.process = process(row.process);
    row.unique_id = text(row.unique_id);
    row.created_ns = time(row.created_ns);
  });
  send(capture_.samples, [&](Sample& row) {
    row.device = device(row.device);
    place(row);
  });
  send(capture_.device_readings, [&](DeviceReading& row) {
    row.device = device(row.device);
    row.time_ns = time(row.time_ns);
  });
  send(capture_.losses, [&](Loss& row) {
    if (row.process) {
      row.process = process(*row.process);
    }
    if (row.first_ns) {
      row.first_ns = time(*row.first_ns);
    }
    if (row.last_ns) {
      row.last_ns = time(*row.last_ns);
    }
  });
}

// Facts whose values are times of the capture's own clock: what was recorded begins with the last and ends with the first.
enum class TimeFact : uint8_t { none, begin, end };
TimeFact time_of(std::string_view key) {
  if (key == "record.start_ns" || key == "window.from_ns") {
    return TimeFact::begin;
  }
  return key == "record.end_ns" || key == "window.to_ns" ? TimeFact::end : TimeFact::none;
}

// Facts about the clock: the first capture's is the clock of all.
bool is_of_the_clock(std::string_view key) {
  return key == "clock.monotonic_ns" || key == "clock.realtime_ns" || key == "import.base_time_ns" ||
         key == "import.clock";
}

// The least that was recorded anywhere; empty: tiers that cannot be held against each other.
std::string_view least_tier(const std::vector<Capture>& captures) {
  constexpr std::array<std::string_view, 6> ascending{"imported",     "host",   "host+counters",
                                                      "unprivileged", "device", "full"};
  const auto rank = [&](const Capture& capture) { return std::ranges::find(ascending, capture.fact("tier")); };
  const auto least = std::ranges::min_element(captures, {}, rank);
  return std::ranges::all_of(captures, [&](const Capture& c) { return rank(c) != ascending.end(); })
             ? least->fact("tier")
             : std::string_view{};
}

// Facts on which all agree stay; the others are kept by capture.
void facts(const std::vector<Capture>& captures, const std::vector<Placed>& placed, EventSink& sink) {
  const auto agreed = [&](std::string_view key, std::string_view value) {
    return std::ranges::all_of(captures, [&](const Capture& c) { return c.fact(key) == value; });
  };
  for (const auto& [key, value] : captures[0].meta) {
    if (is_of_the_clock(key) || (time_of(key) == TimeFact::none && agreed(key, value))) {
      sink.on(Meta{key, value});
    }
  }
  if (const std::string_view tier = least_tier(captures); !tier.empty() && !agreed("tier", tier)) {
    sink.on(Meta{"tier", std::string(tier)});
  }
  std::map<std::string, int64_t> times;
  for (size_t n = 0; n < captures.size(); ++n) {
    for (const auto& [key, value] : captures[n].meta) {
      if (const TimeFact which = time_of(key); which != TimeFact::none) {
        if (const auto time = time_fact(captures[n], key)) {
          const int64_t moved = placed[n].clock.to_reference(*time);
          int64_t& all = times.try_emplace(key, moved).first->second;
          all = which == TimeFact::end ? std::min(all, moved) : std::max(all, moved);
        }
      } else if (!agreed(key, value)) {
        sink.on(Meta{fmt::format("merge.{}.{}", n, key), value});
      }
    }
    const HostClock& clock = placed[n].clock;
    const auto fact = [&](const char* key, const std::string& value) {
      sink.on(Meta{fmt::format("merge.{}.{}", n, key), value});
    };
    fact("file", captures[n].path);
    fact("clock.by", name(placed[n].by));
    fact("clock.offset_ns", std::to_string(clock.offset_ns));
    fact("clock.from_ns", std::to_string(clock.from_ns));
    fact("clock.drift_ns_per_s", fmt::format("{:.3f}", clock.drift * 1e9));
    if (clock.residual_ns && clock.residual_p95_ns) {
      fact("clock.residual_ns", std::to_string(*clock.residual_ns));
      fact("clock.residual_p95_ns", std::to_string(*clock.residual_p95_ns));
      fact("clock.collectives", std::to_string(clock.collectives));
    }
  }
  for (const auto& [key, value] : times) {
    sink.on(Meta{key, std::to_string(value)});
  }
  sink.on(Meta{"merge.captures", std::to_string(captures.size())});
}

}  // namespace

void merge_into(const std::vector<Capture>& captures, const std::vector<Placed>& placed, EventSink& sink) {
  std::vector<Translator> translators;
  Devices devices;
  uint32_t processes = 0, shapes = 0;
  for (size_t n = 0; n < captures.size(); ++n) {
    const bool other_host = captures[n].fact("hostname") != captures[0].fact("hostname");
    translators.emplace_back(captures[n], placed[n].clock, sink)
        .define(processes, shapes, devices, other_host ? std::string(captures[n].fact("hostname")) : "");
    processes += static_cast<uint32_t>(captures[n].processes.size());
    shapes += static_cast<uint32_t>(captures[n].shapes.size());
  }
  for (Translator& translator : translators) {
    translator.events();
  }
  facts(captures, placed, sink);
}

}  // namespace kvet::merge
