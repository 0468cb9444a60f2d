// Times and processes of an export: which times are plausible, and what the file calls its processes.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "import/nsys_import.h"

namespace kvet::importing {
namespace {

// Nobody profiles for four months. Times may be near 0, since the machine's start, or since 1970, so it is the distance to
// the others that shows a time which is none.
constexpr int64_t longest_ns = 10'000'000'000'000'000;

bool far_apart(int64_t a, int64_t b) {
  int64_t distance = 0;
  return __builtin_sub_overflow(a, b, &distance) || distance > longest_ns || distance < -longest_ns;
}

// The starts in one table, unchecked.
Result<void> add_starts(const NsysFile& file, std::string_view table, std::vector<int64_t>& into) {
  if (!file.has(table, "start")) {
    return {};
  }
  auto rows = NsysRows::select(file, table, {"start"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  while (rows->next()) {
    if (const auto start = rows->integer(0); start && *start != 0) {
      into.push_back(*start);
    }
  }
  return rows->end();
}

}  // namespace

std::optional<Times> NsysImport::times(std::optional<int64_t> start, std::optional<int64_t> end) {
  // Both 0: CUPTI could not collect them (its documentation of every activity record).
  if (!start || !end || (*start == 0 && *end == 0) || *end < *start || far_apart(*start, middle_ns) ||
      far_apart(*end, middle_ns)) {
    lose(LossKind::bad_time);
    return std::nullopt;
  }
  const Times shifted{*start + shift_ns, *end + shift_ns};
  if (!span) {
    span = shifted;
  }
  span->start_ns = std::min(span->start_ns, shifted.start_ns);
  span->end_ns = std::max(span->end_ns, shifted.end_ns);
  return shifted;
}

Result<void> find_times(NsysImport& import) {
  std::vector<int64_t> starts;
  if (auto added = add_starts(import.file, "CUPTI_ACTIVITY_KIND_KERNEL", starts); !added) {
    return added;
  }
  if (starts.empty()) {
    return {};
  }
  const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
  std::ranges::nth_element(starts, middle);
  import.middle_ns =
      std::clamp(*middle, -std::numeric_limits<int64_t>::max() / 4, std::numeric_limits<int64_t>::max() / 4);
  if (import.files.alone) {
    return {};
  }
  for (const std::string_view table : {"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
                                       "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "SCHED_EVENTS"}) {
    if (auto added = add_starts(import.file, table, starts); !added) {
      return added;
    }
  }
  std::erase_if(starts, [&](int64_t start) { return far_apart(start, import.middle_ns); });
  import.shift_ns = starts.empty() ? 0 : -*std::ranges::min_element(starts);
  return {};
}

std::optional<int64_t> NsysImport::only_process() {
  if (only_process_) {
    return *only_process_;
  }
  only_process_.emplace();
  constexpr int64_t thread_bits = 0xffffff;
  // Who calls CUDA; where no calls were recorded, who was seen at all. What cannot be read is refused by whoever reads that
  // table for its own sake.
  std::set<int64_t> found;
  const auto look = [&](std::string_view table, std::string_view column) {
    if (!file.has(table, column)) {
      return;
    }
    if (auto rows = NsysRows::select(file, table, {column})) {
      while (found.size() < 2 && rows->next()) {
        if (const auto id = rows->integer(0)) {
          found.insert(*id & ~thread_bits);
        }
      }
    }
  };
  look("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid");
  look("CUPTI_ACTIVITY_KIND_DRIVER", "globalTid");
  if (found.empty()) {
    look("PROCESSES", "globalPid");
  }
  if (found.size() == 1) {
    *only_process_ = *found.begin();
  }
  return *only_process_;
}

ProcessId NsysImport::process(const GlobalId& id) {
  const uint64_t key = uint64_t{id.machine} << 32 | static_cast<uint32_t>(id.pid);
  if (const auto known = processes.find(key); known != processes.end()) {
    return known->second;
  }
  // Machines of one export have pids of their own, as files have.
  const ProcessId made = entities.process(index << 16 | id.machine, id.pid);
  if (const auto name = process_names.find(key); name != process_names.end()) {
    Process facts;
    facts.pid = id.pid;
    facts.name = sink.intern(name->second);
    entities.describe(made, facts);
  }
  processes.emplace(key, made);
  return made;
}

Result<void> read_process_names(NsysImport& import) {
  if (!import.file.has("PROCESSES", "globalPid") || !import.file.has("PROCESSES", "name")) {
    return {};
  }
  auto rows = NsysRows::select(import.file, "PROCESSES", {"globalPid", "name"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  while (rows->next()) {
    const auto serialized = rows->integer(0);
    const auto name = rows->text(1);
    if (serialized && name) {
      const GlobalId id = global_id(*serialized);
      constexpr size_t longest = 4096;
      import.process_names.insert_or_assign(uint64_t{id.machine} << 32 | static_cast<uint32_t>(id.pid),
                                            std::string(name->substr(0, longest)));
    }
  }
  return rows->end();
}

}  // namespace kvet::importing
