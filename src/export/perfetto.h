// A timeline as a native Perfetto trace: protobuf TracePackets, streamed. Opens in ui.perfetto.dev and trace_processor.
#pragma once

#include <memory>

#include "base/output_file.h"
#include "model/timeline.h"

namespace kvet::exporting {

// Field numbers and their meaning are those of Perfetto's published protos (protos/perfetto/trace/ at commit ec5d16b1 of
// github.com/google/perfetto): trace_packet, track_descriptor, counter_descriptor, track_event, debug_annotation, interned_data,
// clock_snapshot. Slices are pairs of TYPE_SLICE_BEGIN and TYPE_SLICE_END; names, categories and text arguments are interned.
//
// Time stamps are those of the capture. Where they are CLOCK_MONOTONIC and the real time of one moment is known, a clock snapshot
// says so; else they are trace time, moved so that none is negative.
class PerfettoWriter final : public TimelineSink {
 public:
  explicit PerfettoWriter(OutputFile& output);
  ~PerfettoWriter() override;

  void begin(const TimelineClock& clock, const std::vector<std::pair<std::string, std::string>>& facts) override;
  void on(const TimelineTrack& track) override;
  void on(const TimelineSlice& slice) override;
  void on(const TimelineCounter& counter) override;

 private:
  class Packets;
  std::unique_ptr<Packets> packets_;
};

}  // namespace kvet::exporting
