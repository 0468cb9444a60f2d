// What an export lacks, and the option of `nsys profile` that adds it: facts source.NAME and counters.status
// (ARCHITECTURE.md), so that questions and the report can say it.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "import/missing.h"
#include "import/nsys_import.h"

namespace kvet::importing {
namespace {

constexpr std::string_view graph_table = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";

void say(NsysImport& import, std::string_view name, std::string reason, std::string advice) {
  if (!import.files.alone) {
    reason = fmt::format("{}: {}", import.file.name(), reason);
  }
  say_missing(import.sink, name, std::move(reason), std::move(advice));
}

struct WholeGraphs {
  uint64_t launches = 0;
  double time_ns = 0;
};
Result<WholeGraphs> whole_graphs(NsysImport& import) {
  WholeGraphs graphs;
  if (!import.file.has(graph_table)) {
    return graphs;
  }
  auto rows = NsysRows::select(import.file, graph_table, {"start", "end"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  while (rows->next()) {
    const auto start = rows->integer(0), end = rows->integer(1);
    if (rows->wrong_type()) {
      return rows->refuse_type();
    }
    ++graphs.launches;
    graphs.time_ns += start && end && *end > *start ? static_cast<double>(*end) - static_cast<double>(*start) : 0;
  }
  if (auto ended = rows->end(); !ended) {
    return std::unexpected(ended.error());
  }
  return graphs;
}

// Why there are rows of kernels and none could be read.
std::unexpected<Error> refuse_unread(const NsysImport& import) {
  constexpr std::string_view table = "CUPTI_ACTIVITY_KIND_KERNEL";
  std::string absent, reasons;
  for (const std::string_view column : {"start", "end", "deviceId", "contextId", "streamId"}) {
    if (!import.file.has(table, column)) {
      absent += fmt::format("{}{}", absent.empty() ? "" : ", ", column);
    }
  }
  if (!absent.empty()) {
    return import.file.refuse(fmt::format("table {} lacks what places a kernel: it has no column {}", table, absent),
                              "Export it again with `nsys export --type sqlite`");
  }
  uint64_t all = 0;
  for (const auto& [why, count] : import.unread_kernels) {
    all += count;
    reasons += fmt::format("{}{}, {}", reasons.empty() ? "" : "; ", count, why);
  }
  return import.file.refuse(
      fmt::format("has {} rows in table {}, of which none could be read: {}", all, table, reasons),
      "Export it again with `nsys export --type sqlite`; if that says the same, profile again");
}

// Nsight Systems traces a graph as a whole unless told otherwise: nothing of what runs inside it is in the file.
Result<void> graphs(NsysImport& import) {
  const auto whole = whole_graphs(import);
  if (!whole) {
    return std::unexpected(whole.error());
  }
  const bool hidden = whole->launches > 0 || (import.graph_launches > 0 && import.graph_kernels == 0);
  const std::string flag = "Profile again with `nsys profile --cuda-graph-trace=node`";
  if (import.kernels == 0 && !import.unread_kernels.empty()) {
    return refuse_unread(import);
  }
  if (import.kernels == 0) {
    if (hidden) {
      return import.file.refuse(
          fmt::format("holds no kernels: {} CUDA graph launches are recorded as wholes, which hides the kernels inside",
                      whole->launches > 0 ? whole->launches : import.graph_launches),
          flag);
    }
    return import.file.refuse("holds no kernels",
                              "Profile a part that uses the GPU, with `nsys profile --trace=cuda,nvtx`");
  }
  if (hidden) {
    say(import, "graph_nodes",
        whole->launches > 0
            ? fmt::format(
                  "{} CUDA graph launches ({:.3g} ms) are recorded as wholes: the kernels inside are hidden, and "
                  "the device looks idle while they run",
                  whole->launches, whole->time_ns / 1e6)
            : fmt::format("{} CUDA graphs were launched and no kernel of theirs is in the file", import.graph_launches),
        flag);
  }
  return {};
}

// NCCL's kernels carry its name: ncclDevKernel_AllReduce_Sum_f32_RING_LL, ncclKernel_…, ncclSymkDevKernel_….
bool collectives_ran(const NsysImport& import) {
  return std::ranges::any_of(import.kernel_names, [&](int64_t id) {
    const std::string* name = import.strings.find(id);
    return name != nullptr &&
           (name->find("ncclDevKernel") != std::string::npos || name->find("ncclKernel") != std::string::npos ||
            name->find("ncclSymkDevKernel") != std::string::npos);
  });
}

}  // namespace

Result<void> say_what_is_missing(NsysImport& import) {
  if (auto said = graphs(import); !said) {
    return said;
  }
  if (import.calls == 0) {
    say(import, "launch", "the file holds no CUDA API calls", "Profile again with `nsys profile --trace=cuda,nvtx`");
  }
  if (import.switches == 0) {
    say(import, "sched", "the file holds no scheduler events",
        "Profile again with `nsys profile --cpuctxsw=process-tree` (it needs kernel.perf_event_paranoid of 2 or less)");
  }
  if (import.ranges == 0) {
    say(import, "nvtx", "the file holds no NVTX ranges",
        "Profile again with `nsys profile --trace=cuda,nvtx`, and a program that marks its steps");
  }
  if (collectives_ran(import)) {
    say(import, "nccl",
        import.nccl_ranges > 0
            ? "NCCL's calls are in the file as NVTX ranges whose arguments (communicator, peer, size) cannot be read"
            : "the file holds no NCCL calls",
        "Record with `kvet record -- CMD`, which sees the arguments");
  }
  return {};
}

}  // namespace kvet::importing
