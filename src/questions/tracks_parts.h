// What the parts of tell_timeline() share: names made fit to be shown once each, and tracks made when first needed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/capture.h"
#include "model/timeline.h"
#include "questions/counter_pool.h"
#include "questions/dispatch_thread.h"
#include "questions/lanes.h"
#include "questions/launch_flows.h"
#include "questions/spans.h"

namespace kvet::questions {

class TrackBook {
 public:
  TrackBook(const Capture& capture, const TimelineClock& clock, TimelineSink& sink);
  TrackBook(const TrackBook&) = delete;
  TrackBook& operator=(const TrackBook&) = delete;

  const Capture& capture;
  const TimelineClock clock;
  TimelineSink& sink;

  // Cut in the middle where they are long; a capture's own strings are looked at once.
  const TimelineName* name(std::string_view raw);
  const TimelineName* name(StringId id);
  const TimelineName* kernel(StringId mangled);  // decoded

  TrackId make(std::optional<TrackId> parent, TrackKind kind, std::string_view name, std::string unit = {},
               uint32_t lane = 0);
  TrackId process(ProcessId id);
  TrackId thread(const ThreadKey& key);
  TrackId device(DeviceId id);
  TrackId process_device(ProcessId process, DeviceId device);

 private:
  TrackId tell(TimelineTrack track);
  const TimelineName* keep(std::string text);

  uint32_t tracks_ = 0;
  std::unordered_map<std::string, TimelineName> names_;
  std::vector<const TimelineName*> of_string_, of_kernel_;  // by StringId
  std::vector<bool> pid_is_unique_;                         // by ProcessId
  std::map<uint32_t, TrackId> processes_, devices_;
  std::map<ThreadKey, TrackId> threads_;
  std::map<std::pair<uint32_t, uint32_t>, TrackId> process_devices_;
};

// A thing that may overlap itself: a track for each lane.
class LanedTrack {
 public:
  LanedTrack(TrackBook& book, TrackId parent, TrackKind kind, std::string name, Lanes::Nesting nesting)
      : book_(&book), parent_(parent), kind_(kind), name_(std::move(name)), lanes_(nesting) {}
  TrackId at(int64_t start_ns, int64_t end_ns);  // by start

 private:
  TrackBook* book_;
  TrackId parent_;
  TrackKind kind_;
  std::string name_;
  Lanes lanes_;
  std::vector<std::optional<TrackId>> tracks_;  // by lane
};

void tell_counters(TrackBook& book);
void tell_device_work(TrackBook& book, const LaunchFlows& flows);
void tell_collectives(TrackBook& book);
void tell_threads(TrackBook& book, const LaunchFlows& flows);
void tell_losses(TrackBook& book);

// Part of tell_counters: whose warps they were, where that can be known. `samples` with a guard.
void tell_kernel_counters(TrackBook& book, DeviceId device, const DeviceSamples& samples);
// Times without a sample, the time before the first and after the last included.
std::vector<Span> unsampled(const TimelineClock& clock, const std::vector<const Sample*>& samples);

}  // namespace kvet::questions
