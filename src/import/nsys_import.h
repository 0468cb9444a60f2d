// What the parts of the Nsight Systems importer share while one file is read. Each part reads one sort of table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"
#include "import/entities.h"
#include "import/nsys_devices.h"
#include "import/nsys_file.h"
#include "import/nsys_rows.h"
#include "import/nsys_strings.h"
#include "model/event_sink.h"

namespace kvet::importing {

// A "serialized global id": 8 bits hardware, 8 bits virtual machine, 24 bits process, 24 bits thread
// (https://docs.nvidia.com/nsight-systems/UserGuide/index.html, "Serialized Process and Thread Identifiers").
struct GlobalId {
  uint32_t machine = 0;  // hardware and virtual machine
  int32_t pid = 0, tid = 0;
};
[[nodiscard]] constexpr GlobalId global_id(int64_t serialized) {
  const auto bits = static_cast<uint64_t>(serialized);
  return {static_cast<uint32_t>(bits >> 48), static_cast<int32_t>(bits >> 24 & 0xffffff),
          static_cast<int32_t>(bits & 0xffffff)};
}

struct Times {
  int64_t start_ns = 0, end_ns = 0;
};

// One import of one or several files.
struct NsysFiles {
  EventSink& sink;
  Entities entities;
  bool alone = true;      // one file: its times stay as they are
  bool unix_time = false;  // import.base_time_ns was said
  uint64_t messages = 0;  // import.message.N
};

struct NsysImport {
  const NsysFile& file;
  size_t index = 0;  // of the file in this import
  NsysFiles& files;
  EventSink& sink;
  Entities& entities;
  NsysStrings strings;
  NsysDevices devices;

  int64_t middle_ns = 0;  // the middle one of the kernels' starts: what is years away from it is no time
  int64_t shift_ns = 0;   // added to every time
  std::optional<Times> span;  // of everything that was delivered

  // The one process of the file that uses CUDA, as a serialized id, for rows that do not name theirs. Empty: there are
  // several, or none is known.
  std::optional<int64_t> only_process();
  std::optional<std::optional<int64_t>> only_process_;  // once it was looked for
  std::map<std::string_view, uint64_t>
      unread_kernels;  // rows of kernels that were set aside, by what is wrong with them

  uint64_t kernels = 0, graph_kernels = 0, calls = 0, graph_launches = 0, ranges = 0, switches = 0;
  uint64_t nccl_ranges = 0;
  std::unordered_set<int64_t> kernel_names;  // ids in StringIds
  std::unordered_set<uint64_t> worked;  // keys (correlation_key) of everything that ran on a device
  std::map<LossKind, uint64_t> lost;

  void lose(LossKind kind) { ++lost[kind]; }
  // The times of an event, shifted; empty, and counted as lost, where they are none.
  std::optional<Times> times(std::optional<int64_t> start, std::optional<int64_t> end);
  // The process of a serialized id. Its name comes from PROCESSES.
  ProcessId process(const GlobalId& id);
  std::unordered_map<uint64_t, std::string> process_names;  // by machine << 32 | pid
  std::unordered_map<uint64_t, ProcessId> processes;  // the same, of those that were delivered
};

[[nodiscard]] constexpr uint64_t correlation_key(ProcessId process, uint32_t correlation) {
  return uint64_t{process.value} << 32 | correlation;
}

// Each delivers what it reads to the sink. Errors are bad_input.
Result<void> read_process_names(NsysImport& import);
Result<void> find_times(NsysImport& import);  // middle_ns, and shift_ns where there are several files
Result<void> read_kernels(NsysImport& import);
Result<void> read_transfers(NsysImport& import);
Result<void> read_contexts(NsysImport& import);
Result<void> read_calls(NsysImport& import);  // after kernels and transfers
Result<void> read_ranges(NsysImport& import);
Result<void> read_scheduler(NsysImport& import);  // of the processes that were delivered so far
Result<void> read_diagnostics(NsysImport& import);
Result<void> read_metrics(NsysImport& import);  // and what is said where there are none
Result<void> say_what_is_missing(NsysImport& import);  // last

}  // namespace kvet::importing
