// The events of one PyTorch trace, into a sink.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "import/entities.h"
#include "import/kineto_collectives.h"
#include "import/kineto_event.h"
#include "import/kineto_file.h"

namespace kvet::importing {

// What a file's kept events span, on its own clock, and what they lack.
struct KinetoSummary {
  std::optional<int64_t> first_ns, last_ns;
  uint64_t ranges = 0, collectives = 0, graph_launches = 0, graph_nodes = 0, quarantined = 0;
  std::optional<int64_t> pid;
};

class KinetoEvents {
 public:
  // `file` counts from 0 in one import; `shift_ns` is added to every time. Without a sink: only the summary is made.
  KinetoEvents(EventSink* sink, Entities* entities, size_t file, std::string path, int64_t shift_ns);

  // Refuses a file with two processes' calls, or with very many devices.
  Result<void> on(const KinetoEvent& event);
  // What the file said about itself by then: processes, devices, communicators, losses.
  void finish(const KinetoFacts& facts);

  [[nodiscard]] const KinetoSummary& summary() const { return summary_; }

 private:
  struct Times {
    int64_t start_ns, end_ns;
  };
  std::optional<Times> times_of(const KinetoEvent& event);
  Result<void> same_process(const KinetoEvent& event);
  Result<DeviceId> device_of(const KinetoEvent& event);
  Result<void> on_execution(const KinetoEvent& event);
  Result<void> on_transfer(const KinetoEvent& event);
  void on_call(const KinetoEvent& event);
  bool first_launch(uint32_t correlation);
  void quarantine(LossKind kind) { ++quarantined_[kind]; }
  void describe_devices(const KinetoFacts& facts);

  EventSink* sink_;
  Entities* entities_;
  size_t file_;
  std::string path_;
  int64_t shift_ns_;
  ProcessId process_;
  bool host_known_ = false;
  std::map<int64_t, std::string> process_names_;
  std::map<uint32_t, DeviceId> devices_;
  std::map<LossKind, uint64_t> quarantined_;
  std::unordered_map<uint32_t, std::array<uint64_t, 64>> launches_;  // correlation ids seen, 4096 to a page
  KinetoCollectives collectives_;
  KinetoSummary summary_;
};

}  // namespace kvet::importing
