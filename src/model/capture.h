// The in-memory view of a capture: what questions/ and verdict/ work on. Times are CLOCK_MONOTONIC, mapped on load.
// Vectors of events are sorted by start_ns.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/events.h"

namespace kvet {

struct Capture {
  std::string path;       // for messages
  bool complete = false;  // false: the recorder did not finish; never gives a passing word

  std::vector<std::string> strings{""};  // by StringId
  std::vector<Process> processes;        // by ProcessId
  std::vector<Device> devices;           // by DeviceId
  std::vector<KernelShape> shapes;       // by ShapeId

  std::vector<Context> contexts;

  std::vector<ApiCall> api_calls;
  std::vector<Execution> executions;
  std::vector<Transfer> transfers;
  std::vector<Range> ranges;
  std::vector<OffCpu> off_cpu;
  std::vector<CollectiveCall> collective_calls;
  std::vector<Communicator> communicators;
  std::vector<Sample> samples;
  std::vector<DeviceReading> device_readings;
  std::vector<Loss> losses;
  std::vector<ClockMapping> clock_mappings;
  std::map<std::string, std::string, std::less<>> meta;

  [[nodiscard]] const std::string& text(StringId id) const { return strings[id.value]; }
  [[nodiscard]] const std::string& kernel_name(ShapeId id) const { return text(shapes[id.value].name); }
  // "" where the key is absent.
  [[nodiscard]] std::string_view fact(std::string_view key) const {
    auto found = meta.find(key);
    return found == meta.end() ? std::string_view{} : std::string_view{found->second};
  }
};

}  // namespace kvet
