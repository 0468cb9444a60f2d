// The processes of the memory-file tier. Without eBPF nobody but their batches says which there are, and anybody who has the
// file can write anything into it: so a process is a table of the file, of which there are few, and the process id that it
// claims is believed where /proc shows that this process has the file mapped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "abi/records.h"
#include "base/file_descriptor.h"
#include "probes/activity/memory_ring.h"
#include "probes/activity/table.h"
#include "probes/process/process_directory.h"

namespace kvet::record {

class MemoryProcesses {
 public:
  MemoryProcesses(const probes::MemoryRing& ring, probes::ProcessDirectory& processes)
      : ring_(ring), processes_(processes) {}

  // Whose batch is this? `table` is set with its first one. Nothing: the batch names no table of the file.
  struct Sender {
    ProcessId process;
    std::optional<probes::Table> table;
    std::optional<ProcessId>
        before_exec;  // the program that ran before in the same process: nothing more comes from it
  };
  std::optional<Sender> sender(const kvet_batch_header& header, int64_t now_ns, int64_t recording_since_ns);

  // Those that have surely ended.
  [[nodiscard]] std::vector<ProcessId> ended() const;

 private:
  struct Known {
    ProcessId process;
    int32_t pid = 0;
    FileDescriptor handle;  // pidfd, where the process id is believed
  };
  const probes::MemoryRing& ring_;
  probes::ProcessDirectory& processes_;
  std::map<uint64_t, Known> known_;  // by the table's offset in the file
};

}  // namespace kvet::record
