// Which process of the target tree a process id meant at a time: process ids are reused, ours are not. Decoders of other
// sources ask here; the process probe's decoder and the recorder tell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/event_sink.h"

namespace kvet::probes {

class ProcessDirectory {
 public:
  // The sink gets a Process whenever something about one becomes known. It must outlive the directory.
  explicit ProcessDirectory(EventSink& sink) : sink_(sink) {}

  struct Seen {
    int32_t pid = 0;
    int32_t parent_pid = 0;
    int32_t namespace_pid = 0;  // 0: unknown
    std::string_view name;
    std::string_view command_line;
    int64_t start_ns = 0;
  };
  // A process was born or is seen for the first time. One that is alive under this pid is replaced only by a later birth.
  ProcessId begin(const Seen& seen);
  // It runs another program now. `anew`: as a process of its own in the capture, since the old program had used CUDA,
  // and its correlation ids and addresses mean nothing any more.
  ProcessId exec(int32_t pid, int64_t time_ns, std::string_view name, std::string_view command_line, bool anew);
  void end(int32_t pid, int64_t time_ns, int32_t exit_code);
  void set_inject_status(ProcessId process, uint32_t status);
  void set_namespace_pid(ProcessId process, int32_t namespace_pid);

  // The process that had this pid at this time. Makes one where nobody announced it, so that no event is without.
  ProcessId at(int32_t pid, int64_t time_ns);

  [[nodiscard]] const Process& process(ProcessId id) const { return processes_[id.value]; }
  [[nodiscard]] const std::vector<Process>& processes() const { return processes_; }

 private:
  Process* alive(int32_t pid);

  EventSink& sink_;
  std::vector<Process> processes_;  // by ProcessId
  std::unordered_map<int32_t, std::vector<ProcessId>> by_pid_;  // in the order of their births
};

}  // namespace kvet::probes
