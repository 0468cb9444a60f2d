// A sink that counts, and holds what every importer owes: ids that are defined before they are used, and dense.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/event_sink.h"

namespace kvet::fuzz {

class Sink final : public EventSink {
 public:
  StringId intern(std::string_view text) override {
    return {ids_.try_emplace(std::string(text), static_cast<uint32_t>(ids_.size())).first->second};
  }
  void on(const Process& row) override {
    define(row.id.value, processes);
    need(row.name);
    need(row.command_line);
  }
  void on(const Device& row) override {
    define(row.id.value, devices);
    need(row.name);
  }
  void on(const KernelShape& row) override {
    define(row.id.value, shapes);
    need(row.name);
  }
  void on(const Context& row) override { need(row.process, row.device); }
  void on(const ApiCall& row) override { need(row.process), need_times(row.start_ns, row.end_ns); }
  void on(const Execution& row) override {
    need(row.process, row.device);
    check(row.shape.value < shapes);
    need_times(row.start_ns, row.end_ns);
    ++executions;
  }
  void on(const Transfer& row) override {
    need(row.process, row.device);
    need_times(row.start_ns, row.end_ns);
  }
  void on(const Range& row) override {
    need(row.process);
    need(row.name);
    need(row.domain);
    need_times(row.start_ns, row.end_ns);
  }
  void on(const OffCpu& row) override {
    need(row.process);
    need_times(row.start_ns, row.wake_ns);
    need_times(row.wake_ns, row.end_ns);
  }
  void on(const CollectiveCall& row) override { need(row.process), need_times(row.start_ns, row.end_ns); }
  void on(const Communicator& row) override {
    need(row.process);
    need(row.unique_id);
  }
  void on(const Sample& row) override { check(row.device.value < devices), need_times(row.start_ns, row.end_ns); }
  void on(const DeviceReading& row) override { check(row.device.value < devices); }
  void on(const Loss& row) override { losses += row.count; }
  void on(const ClockMapping&) override {}
  void on(const Meta&) override {}

  uint32_t processes = 0, devices = 0, shapes = 0;
  uint64_t executions = 0, losses = 0;

 private:
  static void check(bool holds) {
    if (!holds) {
      std::abort();
    }
  }
  static void define(uint32_t id, uint32_t& count) {
    check(id <= count);
    count += id == count ? 1 : 0;
  }
  void need(ProcessId id) const { check(id.value < processes); }
  void need(ProcessId process, DeviceId device) const { check(process.value < processes && device.value < devices); }
  void need(StringId id) const { check(id.value < ids_.size()); }
  // store/rules.h refuses anything else; an importer sets it aside and counts it.
  static void need_times(int64_t start, int64_t end) {
    constexpr int64_t limit = 4'000'000'000'000'000'000;
    check(start >= -limit && end >= start && end <= limit);
  }

  std::unordered_map<std::string, uint32_t> ids_{{"", 0}};
};

}  // namespace kvet::fuzz
