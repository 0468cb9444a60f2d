// A sink that keeps what the host probes' decoders emit, for tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/event_sink.h"

namespace kvet::probes {

class KeptEvents : public EventSink {
 public:
  StringId intern(std::string_view text) override {
    const auto [found, is_new] = ids_.try_emplace(std::string(text), StringId{static_cast<uint32_t>(strings.size())});
    if (is_new) {
      strings.emplace_back(text);
    }
    return found->second;
  }
  void on(const Process& event) override { processes[event.id.value] = event; }
  void on(const Device&) override {}
  void on(const KernelShape&) override {}
  void on(const Context&) override {}
  void on(const ApiCall& event) override { api_calls.push_back(event); }
  void on(const Execution& event) override { executions.push_back(event); }
  void on(const Transfer&) override {}
  void on(const Range&) override {}
  void on(const OffCpu& event) override { off_cpu.push_back(event); }
  void on(const CollectiveCall& event) override { collective_calls.push_back(event); }
  void on(const Communicator& event) override { communicators.push_back(event); }
  void on(const Sample& event) override { samples.push_back(event); }
  void on(const DeviceReading& event) override { readings.push_back(event); }
  void on(const Loss& event) override { losses.push_back(event); }
  void on(const ClockMapping&) override {}
  void on(const Meta& event) override { meta[event.key] = event.value; }

  [[nodiscard]] const std::string& text(StringId id) const { return strings[id.value]; }

  std::vector<std::string> strings{""};
  std::map<uint32_t, Process> processes;
  std::vector<ApiCall> api_calls;
  std::vector<Execution> executions;
  std::vector<OffCpu> off_cpu;
  std::vector<CollectiveCall> collective_calls;
  std::vector<Communicator> communicators;
  std::vector<Sample> samples;
  std::vector<DeviceReading> readings;
  std::vector<Loss> losses;
  std::map<std::string, std::string> meta;

 private:
  std::map<std::string, StringId, std::less<>> ids_{{"", StringId{}}};
};

}  // namespace kvet::probes
