// Turns what the injected library sends into model events.
//
// Everything that comes in was written by the target and may be wrong on purpose: sizes, counts, indices and offsets are
// checked before use, and what does not fit is counted as a loss, never trusted and never fatal.
//
// One decoder serves a whole recording, on one thread. Call order for one process: set_table (or let open_table do it),
// decode for each batch in the order of the ring, finish once when the process has exited and the rings were drained.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "abi/bpf_events.h"
#include "abi/records.h"
#include "model/event_sink.h"
#include "probes/activity/table.h"
#include "probes/device_directory.h"

namespace kvet::probes {

class ActivityDecoder {
 public:
  struct Callbacks {
    // The thread id of the initial pid namespace for one that the process itself sees. Called per API call and range:
    // answer from memory. Empty: ids are taken as they are.
    std::function<int32_t(ProcessId, int32_t namespace_thread_id)> translate_thread;
    // Opens the table of a process whose first batch came before set_table. Called once per process. Empty: no table.
    std::function<Result<Table>(ProcessId)> open_table;
  };

  ActivityDecoder(EventSink& sink, DeviceDirectory& devices, Callbacks callbacks);
  ~ActivityDecoder();
  ActivityDecoder(const ActivityDecoder&) = delete;
  ActivityDecoder& operator=(const ActivityDecoder&) = delete;

  // Another table than before means that the process runs another program now (exec): what the first one left is finished.
  void set_table(ProcessId process, Table table);

  // One batch. `records` may be longer than header.count (padding at the end of a batch is left out by count).
  void decode(ProcessId process, const kvet_batch_header& header, std::span<const kvet_record> records);

  // The same from a ring-buffer event (struct kvet_event_batch and its records), whose size is checked.
  void decode_event(ProcessId process, std::span<const std::byte> event);

  // The process will send nothing more: what was held back is emitted, and what the library says it sent is held against
  // what arrived. A process that lives on must be detached from first. `ended_ns`: when it ended; then it is a loss if the
  // library in it had no time to say goodbye, and its table is closed. Idempotent.
  void finish(ProcessId process, std::optional<int64_t> ended_ns = {});
  void finish_all();

  // For the check of launches against uprobes, and for the report of what the library achieved.
  struct Totals {
    uint64_t batches = 0, records = 0, executions = 0, api_calls = 0, launches = 0, captured_launches = 0;
    uint64_t transfers = 0, ranges = 0;
    uint64_t rejected_records = 0;  // did not make sense; counted as LossKind::unknown_record
    bool said_goodbye = false;  // its last batch was marked as the last
  };
  [[nodiscard]] Totals totals(ProcessId process) const;
  [[nodiscard]] Totals totals() const;  // of all processes; said_goodbye: all of them did
  // The header of its table, the last one seen if it has ended. Errors: unavailable (no table), and those of Table::header.
  [[nodiscard]] Result<kvet_table> header(ProcessId process) const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kvet::probes
