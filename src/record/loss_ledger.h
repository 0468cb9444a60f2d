// Turns counters that only grow into losses for the sink: each time what was added since the last time, so that the file
// of a recorder that is killed knows of its losses up to then.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "model/event_sink.h"
#include "probes/kernel/ring.h"

namespace kvet::record {

class LossLedger {
 public:
  explicit LossLedger(EventSink& sink) : sink_(sink) {}

  // `total` since the beginning. `since_ns`, `until_ns`: when the added ones happened, as far as is known.
  void report(Source source, LossKind kind, uint64_t total, int64_t now_ns);
  // What every program of ours counts.
  void report(Source source, const probes::BpfCounters& counters, int64_t now_ns);

 private:
  struct Reported {
    uint64_t total = 0;
    int64_t at_ns = 0;
  };
  EventSink& sink_;
  std::map<std::pair<Source, LossKind>, Reported> reported_;
};

}  // namespace kvet::record
