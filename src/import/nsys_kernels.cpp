// Kernels, copies, memsets and contexts of an export: what ran on the devices.
#include <fmt/core.h>

#include <array>
#include <expected>
#include <string_view>

#include "import/nsys_import.h"

namespace kvet::importing {
namespace {

enum KernelColumn : uint8_t {
  start,
  end,
  device,
  context,
  stream,
  correlation,
  process,
  mangled,
  demangled,
  short_name,
  registers,
  grid_x,
  grid_y,
  grid_z,
  block_x,
  block_y,
  block_z,
  static_shared,
  dynamic_shared,
  local,
  shared_executed,
  graph,
  graph_node,
  cluster_x,
  cluster_y,
  cluster_z,
  clusters,
};

// A name for kernels that the file gives none: their time counts as much as that of others.
StringId name_of(NsysImport& import, NsysRows& rows) {
  std::optional<int64_t> missing;
  for (const size_t column : {mangled, demangled, short_name}) {
    if (const auto id = rows.integer(column)) {
      if (const StringId* name = import.strings.intern(*id)) {
        import.kernel_names.insert(*id);
        return *name;
      }
      missing = id;
    }
  }
  import.lose(LossKind::unjoined);
  return import.sink.intern(missing ? fmt::format("(kernel without a name: string {} is not in the file)", *missing)
                                    : std::string("(kernel without a name)"));
}

uint32_t size_of(NsysRows& rows, size_t column) { return rows.number<uint32_t>(column).value_or(0); }

KernelShape shape_of(NsysRows& rows, StringId name) {
  KernelShape shape;
  shape.name = name;
  shape.grid = {size_of(rows, grid_x), size_of(rows, grid_y), size_of(rows, grid_z)};
  shape.block = {size_of(rows, block_x), size_of(rows, block_y), size_of(rows, block_z)};
  shape.cluster = {size_of(rows, cluster_x), size_of(rows, cluster_y), size_of(rows, cluster_z)};
  // Nsight Systems writes 1 × 1 × 1 or 0 where CUDA was not asked for clusters.
  if (shape.cluster == std::array<uint32_t, 3>{1, 1, 1}) {
    shape.cluster = {};
  }
  shape.registers_per_thread = size_of(rows, registers);
  shape.static_shared_bytes = size_of(rows, static_shared);
  shape.dynamic_shared_bytes = size_of(rows, dynamic_shared);
  shape.local_bytes_per_thread = size_of(rows, local);
  shape.shared_executed_bytes = size_of(rows, shared_executed);
  if (shape.cluster[0] != 0) {
    shape.max_active_clusters = size_of(rows, clusters);
  }
  return shape;
}

// What kernels, copies and memsets have in common: the first columns of their SELECT.
struct Placed {
  Times times;
  ProcessId process;
  DeviceId device;
  uint32_t context = 0, stream = 0, correlation = 0;
};
// A row that cannot be placed is counted as lost; the error says what is wrong with it.
std::expected<Placed, std::string_view> placed(NsysImport& import, NsysRows& rows) {
  const auto lost = [&](LossKind kind, std::string_view why) {
    import.lose(kind);
    return std::unexpected(why);
  };
  const auto ordinal = rows.number<uint32_t>(device);
  const auto in_stream = rows.number<uint32_t>(stream);
  const auto in_context = rows.number<uint32_t>(context);
  if (!ordinal || !in_stream || !in_context) {
    return lost(LossKind::unknown_record, !ordinal     ? "their deviceId is absent or out of range"
                                          : !in_stream ? "their streamId is absent or out of range"
                                                       : "their contextId is absent or out of range");
  }
  auto serialized = rows.integer(process);
  if (!serialized) {
    serialized = import.only_process();
  }
  if (!serialized) {
    return lost(
        LossKind::unknown_record,
        "they cannot be told apart by process: they name none (globalPid), and the file does not hold just one");
  }
  const auto from = rows.integer(start), until = rows.integer(end);
  const auto when = import.times(from, until);
  if (!when) {  // which counted it
    return std::unexpected(!from || !until             ? "they have no start or no end"
                           : *from == 0 && *until == 0 ? "their start and end are 0, which is not known"
                           : *until < *from            ? "they end before they start"
                                                       : "their times are months away from the others");
  }
  const GlobalId id = global_id(*serialized);
  const auto on = import.devices.of(id.machine, id.pid, *ordinal);
  if (!on) {
    return lost(LossKind::table_full, "they name more devices than a machine has");
  }
  Placed result{*when,       import.process(id), *on,
                *in_context, *in_stream,         rows.number<uint32_t>(correlation).value_or(0)};
  if (result.correlation != 0) {
    import.worked.insert(correlation_key(result.process, result.correlation));
  }
  return result;
}

enum class Copies : uint8_t { memcpy, memset };

TransferKind kind_of(std::optional<int64_t> copy) {
  // ENUM_CUDA_MEMCPY_OPER, which is CUpti_ActivityMemcpyKind and three of its own for managed memory.
  switch (copy.value_or(0)) {
    case 1:
    case 3:
    case 11: return TransferKind::host_to_device;
    case 2:
    case 4:
    case 12: return TransferKind::device_to_host;
    case 5:
    case 6:
    case 7:
    case 8:
    case 13: return TransferKind::device_to_device;
    case 10: return TransferKind::peer;
    default: return TransferKind::other;
  }
}

Result<void> read_table(NsysImport& import, std::string_view table, Copies copies) {
  if (!import.file.has(table)) {
    return {};
  }
  // The common columns first, in the order of KernelColumn.
  auto rows = NsysRows::select(import.file, table,
                               {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
                                "copyKind", "bytes", "graphId", "graphNodeId"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  constexpr size_t kind = 7, bytes = 8, of_graph = 9, of_node = 10;
  while (rows->next()) {
    const auto where = placed(import, *rows);
    if (rows->wrong_type()) {
      return rows->refuse_type();
    }
    if (!where) {
      continue;
    }
    Transfer transfer;
    transfer.process = where->process;
    transfer.device = where->device;
    transfer.kind = copies == Copies::memset ? TransferKind::memset : kind_of(rows->integer(kind));
    transfer.context_id = where->context;
    transfer.stream_id = where->stream;
    transfer.correlation_id = where->correlation;
    transfer.graph_id = rows->number<uint32_t>(of_graph).value_or(0);
    transfer.graph_node_id = static_cast<uint64_t>(rows->integer(of_node).value_or(0));
    transfer.bytes = rows->number<uint64_t>(bytes).value_or(0);
    transfer.start_ns = where->times.start_ns;
    transfer.end_ns = where->times.end_ns;
    import.sink.on(transfer);
  }
  return rows->end();
}

}  // namespace

Result<void> read_kernels(NsysImport& import) {
  constexpr std::string_view table = "CUPTI_ACTIVITY_KIND_KERNEL";
  if (!import.file.has(table)) {
    return {};
  }
  auto rows = NsysRows::select(import.file, table,
                               {"start",
                                "end",
                                "deviceId",
                                "contextId",
                                "streamId",
                                "correlationId",
                                "globalPid",
                                "mangledName",
                                "demangledName",
                                "shortName",
                                "registersPerThread",
                                "gridX",
                                "gridY",
                                "gridZ",
                                "blockX",
                                "blockY",
                                "blockZ",
                                "staticSharedMemory",
                                "dynamicSharedMemory",
                                "localMemoryPerThread",
                                "sharedMemoryExecuted",
                                "graphId",
                                "graphNodeId",
                                "clusterX",
                                "clusterY",
                                "clusterZ",
                                "maxActiveClusters"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  while (rows->next()) {
    const auto where = placed(import, *rows);
    if (!where) {
      ++import.unread_kernels[where.error()];
    } else {
      Execution execution;
      execution.process = where->process;
      execution.device = where->device;
      const StringId name = name_of(import, *rows);
      execution.shape = import.entities.shape(shape_of(*rows, name));
      execution.context_id = where->context;
      execution.stream_id = where->stream;
      execution.correlation_id = where->correlation;
      execution.graph_id = rows->number<uint32_t>(graph).value_or(0);
      execution.graph_node_id = static_cast<uint64_t>(rows->integer(graph_node).value_or(0));
      execution.start_ns = where->times.start_ns;
      execution.end_ns = where->times.end_ns;
      import.sink.on(execution);
      ++import.kernels;
      import.graph_kernels += execution.graph_node_id != 0 ? 1 : 0;
    }
    if (rows->wrong_type()) {
      return rows->refuse_type();
    }
  }
  return rows->end();
}

Result<void> read_transfers(NsysImport& import) {
  if (auto read = read_table(import, "CUPTI_ACTIVITY_KIND_MEMCPY", Copies::memcpy); !read) {
    return read;
  }
  return read_table(import, "CUPTI_ACTIVITY_KIND_MEMSET", Copies::memset);
}

Result<void> read_contexts(NsysImport& import) {
  constexpr std::string_view table = "TARGET_INFO_CUDA_CONTEXT_INFO";
  if (!import.file.has(table)) {
    return {};
  }
  auto rows =
      NsysRows::select(import.file, table, {"processId", "deviceId", "contextId", "parentContextId", "isGreenContext"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  while (rows->next()) {
    const auto pid = rows->number<int32_t>(0);
    const auto ordinal = rows->number<uint32_t>(1), id = rows->number<uint32_t>(2);
    if (!pid || !ordinal || !id) {
      continue;
    }
    // The machine is not named as in the ids of processes: the one that had this pid do work.
    for (const auto& [key, known] : import.processes) {
      if (static_cast<int32_t>(key & 0xffff'ffff) != *pid) {
        continue;
      }
      if (const auto on = import.devices.of(static_cast<uint32_t>(key >> 32), *pid, *ordinal)) {
        Context described;
        described.process = known;
        described.device = *on;
        described.context_id = *id;
        described.green = rows->integer(4).value_or(0) != 0;
        described.parent_context_id = rows->number<uint32_t>(3).value_or(0);
        import.sink.on(described);
      }
    }
  }
  return rows->end();
}

}  // namespace kvet::importing
