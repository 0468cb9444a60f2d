// Scheduler events of an export: from a thread's leaving a CPU to its return. The file tells when, and only now and then why;
// it never tells who woke the thread.
#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

#include "import/nsys_import.h"

namespace kvet::importing {
namespace {

struct Switch {
  ProcessId process;
  int32_t thread_id = 0;
  int64_t time_ns = 0;
  uint32_t cpu = 0;
  bool in = false;
  OffCpuReason reason = OffCpuReason::unexplained;
};

// ENUM_SAMPLING_THREAD_STATE and ENUM_SCHEDULING_THREAD_BLOCK of the thread that leaves. On Linux most files say "unknown".
OffCpuReason reason_of(std::optional<int64_t> state, std::optional<int64_t> block) {
  constexpr int64_t running = 1, quantum_end = 42, preempted = 44;
  return state == running || block == quantum_end || block == preempted ? OffCpuReason::preempted
                                                                        : OffCpuReason::unexplained;
}

}  // namespace

Result<void> read_scheduler(NsysImport& import) {
  constexpr std::string_view table = "SCHED_EVENTS";
  if (!import.file.has(table)) {
    return {};
  }
  auto rows =
      NsysRows::select(import.file, table, {"start", "cpu", "isSchedIn", "globalTid", "threadState", "threadBlock"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  std::vector<Switch> switches;
  while (rows->next()) {
    const auto time = rows->integer(0), in = rows->integer(2), thread = rows->integer(3);
    const auto cpu = rows->number<uint32_t>(1);
    const auto state = rows->integer(4), block = rows->integer(5);
    if (rows->wrong_type()) {
      return rows->refuse_type();
    }
    if (!in || !thread || !cpu) {
      import.lose(LossKind::unknown_record);
      continue;
    }
    const GlobalId id = global_id(*thread);
    const auto process = import.processes.find(uint64_t{id.machine} << 32 | static_cast<uint32_t>(id.pid));
    if (process == import.processes.end()) {
      continue;  // another process of the machine, which launched nothing
    }
    if (const auto when = import.times(time, time)) {
      switches.push_back({process->second, id.tid, when->start_ns, *cpu, *in != 0, reason_of(state, block)});
      ++import.switches;
    }
  }
  if (auto ended = rows->end(); !ended) {
    return std::unexpected(ended.error());
  }
  // A thread that leaves and returns in the same nanosecond left first.
  std::ranges::stable_sort(switches, {},
                           [](const Switch& s) { return std::tuple(s.process, s.thread_id, s.time_ns, s.in); });
  for (size_t i = 0; i + 1 < switches.size(); ++i) {
    const Switch &left = switches[i], &next = switches[i + 1];
    if (left.in || left.process != next.process || left.thread_id != next.thread_id) {
      continue;
    }
    if (!next.in) {
      import.lose(LossKind::unmatched);  // left twice: its return in between is missing
      continue;
    }
    OffCpu interval;
    interval.process = left.process;
    interval.thread_id = left.thread_id;
    interval.reason = left.reason;
    interval.start_ns = left.time_ns;
    interval.end_ns = next.time_ns;
    interval.wake_ns = left.reason == OffCpuReason::preempted ? left.time_ns : next.time_ns;
    interval.cpu = left.cpu;
    import.sink.on(interval);
  }
  return {};
}

}  // namespace kvet::importing
