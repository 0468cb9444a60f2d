// A sink that keeps what it is given, for tests.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/event_sink.h"

namespace kvet::importing {

class RecordingSink final : public EventSink {
 public:
  StringId intern(std::string_view text) override {
    const auto [entry, added] = ids_.try_emplace(std::string(text), static_cast<uint32_t>(strings.size()));
    if (added) {
      strings.emplace_back(text);
    }
    return {entry->second};
  }
  void on(const Process& row) override { processes.push_back(row); }
  void on(const Device& row) override { devices.push_back(row); }
  void on(const KernelShape& row) override { shapes.push_back(row); }
  void on(const Context& row) override { contexts.push_back(row); }
  void on(const ApiCall& row) override { api_calls.push_back(row); }
  void on(const Execution& row) override { executions.push_back(row); }
  void on(const Transfer& row) override { transfers.push_back(row); }
  void on(const Range& row) override { ranges.push_back(row); }
  void on(const OffCpu& row) override { off_cpu.push_back(row); }
  void on(const CollectiveCall& row) override { collective_calls.push_back(row); }
  void on(const Communicator& row) override { communicators.push_back(row); }
  void on(const Sample& row) override { samples.push_back(row); }
  void on(const DeviceReading& row) override { device_readings.push_back(row); }
  void on(const Loss& row) override { losses.push_back(row); }
  void on(const ClockMapping& row) override { clock_mappings.push_back(row); }
  void on(const Meta& row) override { meta[row.key] = row.value; }

  [[nodiscard]] const std::string& text(StringId id) const { return strings[id.value]; }

  std::vector<std::string> strings{""};
  std::vector<Process> processes;
  std::vector<Device> devices;
  std::vector<KernelShape> shapes;
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
  std::map<std::string, std::string> meta;

 private:
  std::map<std::string, uint32_t> ids_{{"", 0}};
};

}  // namespace kvet::importing
