// A sink that keeps what it gets, for the tests of this folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/event_sink.h"

namespace kvet::probes {

class TestSink : public EventSink {
 public:
  StringId intern(std::string_view text) override {
    const auto [found, is_new] = ids_.try_emplace(std::string(text), StringId{static_cast<uint32_t>(strings.size())});
    if (is_new) {
      strings.emplace_back(text);
    }
    return found->second;
  }
  void on(const Process&) override {}
  void on(const Device& event) override { devices.push_back(event); }
  void on(const KernelShape& event) override { shapes.push_back(event); }
  void on(const Context& event) override { contexts.push_back(event); }
  void on(const ApiCall& event) override { api_calls.push_back(event); }
  void on(const Execution& event) override { executions.push_back(event); }
  void on(const Transfer& event) override { transfers.push_back(event); }
  void on(const Range& event) override { ranges.push_back(event); }
  void on(const OffCpu&) override {}
  void on(const CollectiveCall&) override {}
  void on(const Communicator&) override {}
  void on(const Sample&) override {}
  void on(const DeviceReading&) override {}
  void on(const Loss& event) override { losses.push_back(event); }
  void on(const ClockMapping&) override {}
  void on(const Meta&) override {}

  [[nodiscard]] const std::string& name(ShapeId id) const { return strings[shapes[id.value].name.value]; }
  [[nodiscard]] uint64_t lost(LossKind kind) const {
    uint64_t sum = 0;
    for (const Loss& loss : losses) {
      sum += loss.kind == kind ? loss.count : 0;
    }
    return sum;
  }

  std::vector<std::string> strings{""};
  std::vector<Device> devices;
  std::vector<KernelShape> shapes;
  std::vector<Context> contexts;
  std::vector<ApiCall> api_calls;
  std::vector<Execution> executions;
  std::vector<Transfer> transfers;
  std::vector<Range> ranges;
  std::vector<Loss> losses;

 private:
  std::map<std::string, StringId> ids_{{"", StringId{}}};
};

}  // namespace kvet::probes
