// A timeline in the Trace Event Format (JSON object form), streamed: chrome://tracing, ui.perfetto.dev, and scripts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/output_file.h"
#include "model/timeline.h"

namespace kvet::exporting {

// Slices are complete events ("X"); on tracks of states and of collectives, where one begins exactly at the end of another, pairs
// of "B" and "E": readers that add `ts` and `dur` as floating-point numbers would see overlaps. Counters are "C", flows pairs of "s"
// and "f" (bound to the enclosing slice), names metadata ("M"). `ts` and `dur` are microseconds with three decimals, so nothing of
// a nanosecond is lost; `ts` counts from the first event, whose time on the capture's clock is otherData.start_ns. The format
// knows processes and threads only: each process and each device is a "process", every track a "thread"; the numbers are ours, the
// real ones are in the names.
// Format: "Trace Event Format", Google, 2016 (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
class ChromeWriter final : public TimelineSink {
 public:
  explicit ChromeWriter(OutputFile& output) : output_(output) {}

  void begin(const TimelineClock& clock, const std::vector<std::pair<std::string, std::string>>& facts) override;
  void on(const TimelineTrack& track) override;
  void on(const TimelineSlice& slice) override;
  void on(const TimelineCounter& counter) override;
  void finish();  // closes the document

 private:
  struct Track {
    uint32_t root = 0;  // its process
    bool in_pairs = false;
    std::string path;  // names from below the process down
    std::string name, unit;  // as JSON, of counters
  };
  void open(char phase, TrackId track);  // begins an event
  void add_time(const char* key, int64_t ns);
  void add_arguments(std::span<const TimelineArgument> arguments);
  void add_flow(char phase, TrackId track, int64_t time_ns, uint64_t id);
  const std::string& json_of(const TimelineName& name);
  void close();

  OutputFile& output_;
  std::string event_;
  bool first_ = true;
  int64_t base_ns_ = 0;
  std::vector<Track> tracks_;  // by TrackId
  std::vector<std::string> names_;  // by TimelineNameId, as JSON; "" where not yet needed
};

// `text` in quotes, with everything escaped that could end the string, or a script element that the document is embedded in.
// What is not valid UTF-8 becomes U+FFFD, control characters are spelled out.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace kvet::exporting
