// Lets through what lies in the recorded window, and counts it. Things that are not events in time (processes, devices,
// shapes, communicators, losses, clocks, facts) always pass: events of the window refer to them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "model/event_sink.h"

namespace kvet::record {

class WindowSink : public EventSink {
 public:
  // Where events go; before anything arrives.
  void connect(EventSink& next) { next_ = &next; }
  // Events that end before `from_ns` or start at or after `to_ns` are left out. They were not asked for: no loss.
  void set_from(int64_t from_ns) { from_ns_ = from_ns; }
  void set_to(int64_t to_ns) { to_ns_ = to_ns; }

  struct Counts {
    uint64_t launches = 0, executions = 0, off_cpu = 0, collective_calls = 0, samples = 0, losses = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] const std::map<std::pair<Source, LossKind>, uint64_t>& losses() const { return losses_; }

  StringId intern(std::string_view text) override { return next_->intern(text); }
  void on(const Process& process) override { next_->on(process); }
  void on(const Device& device) override { next_->on(device); }
  void on(const KernelShape& shape) override { next_->on(shape); }
  void on(const Context& context) override { next_->on(context); }
  void on(const ApiCall& call) override;
  void on(const Execution& execution) override;
  void on(const Transfer& transfer) override { pass(transfer); }
  void on(const Range& range) override { pass(range); }
  void on(const OffCpu& off_cpu) override;
  void on(const CollectiveCall& call) override;
  void on(const Communicator& communicator) override { next_->on(communicator); }
  void on(const Sample& sample) override;
  void on(const DeviceReading& reading) override;
  void on(const Loss& loss) override;
  void on(const ClockMapping& mapping) override;
  void on(const Meta& meta) override { next_->on(meta); }

 private:
  template <class Event>
  bool pass(const Event& event) {
    if (event.end_ns < from_ns_ || event.start_ns >= to_ns_) {
      return false;
    }
    next_->on(event);
    return true;
  }

  EventSink* next_ = nullptr;
  int64_t from_ns_ = 0, to_ns_ = std::numeric_limits<int64_t>::max();
  std::map<DeviceId, int64_t> counter_offsets_;  // from the samples' clock to CLOCK_MONOTONIC, as far as is known yet
  Counts counts_;
  std::map<std::pair<Source, LossKind>, uint64_t> losses_;
};

}  // namespace kvet::record
