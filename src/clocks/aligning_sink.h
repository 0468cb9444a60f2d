// Stands between the decoders and the capture file: passes every event on, keeps what alignment of the counters needs,
// and adds the clock mappings at the end. Sample times stay raw in the file.
//
// A ClockMapping of the counters that has a residual was measured by pulses, at from_ns: it is an anchor for alignment and not
// passed on. One without a residual is the coarse offset that everything begins with.
#pragma once

#include <map>
#include <vector>

#include "clocks/anchored_alignment.h"
#include "model/event_sink.h"

namespace kvet::clocks {

class AligningSink : public EventSink {
 public:
  // `options.coarse_offset_ns` is not used: it comes with the first ClockMapping of ClockSource::counters for a device,
  // which the sampler's client sends before the samples.
  explicit AligningSink(EventSink& next, const AlignmentOptions& options = {}) : next_(next), options_(options) {}

  // Call once, after the last sample and the last execution: sends the mappings that were found, and the fact
  // `counters.alignment`: "ok: …" or "not aligned: " and why, with what that leaves unknown. No fact without samples.
  void align();

  StringId intern(std::string_view text) override { return next_.intern(text); }
  void on(const Process& event) override { next_.on(event); }
  void on(const Device& event) override;
  void on(const KernelShape& event) override;
  void on(const Context& event) override { next_.on(event); }
  void on(const ApiCall& event) override { next_.on(event); }
  void on(const Execution& event) override;
  void on(const Transfer& event) override { next_.on(event); }
  void on(const Range& event) override { next_.on(event); }
  void on(const OffCpu& event) override { next_.on(event); }
  void on(const CollectiveCall& event) override { next_.on(event); }
  void on(const Communicator& event) override { next_.on(event); }
  void on(const Sample& event) override;
  void on(const DeviceReading& event) override { next_.on(event); }
  void on(const Loss& event) override { next_.on(event); }
  void on(const ClockMapping& event) override;
  void on(const Meta& event) override { next_.on(event); }

 private:
  EventSink& next_;
  AlignmentOptions options_;
  std::vector<Device> devices_;  // by DeviceId
  std::vector<KernelShape> shapes_;  // by ShapeId
  struct Covered {
    int64_t from_ns = 0, to_ns = 0;  // raw
  };
  std::map<uint32_t, CounterAlignment> alignments_;  // by DeviceId; there once its coarse offset is known
  std::map<uint32_t, std::vector<ClockMapping>> anchors_;
  std::map<uint32_t, Covered> covered_;  // by samples
};

}  // namespace kvet::clocks
