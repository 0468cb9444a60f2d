#include "store/views.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

#include "store/schema.h"

namespace kvet::store {
namespace {

// A view is called like its table, in the plural.
struct View {
  std::string_view table, view;
};
constexpr std::array<View, 7> views{{
    {"api_call", "api_calls"},
    {"execution", "executions"},
    {"transfer", "transfers"},
    {"nvtx_range", "nvtx_ranges"},
    {"off_cpu", "off_cpus"},
    {"collective_call", "collective_calls"},
    {"sample", "samples"},
}};

// The clock of a table's times, as an SQL expression over its row t.
std::string source_of(TimeOf time) {
  std::string device =
      fmt::format("CASE WHEN EXISTS (SELECT 1 FROM clock_mapping WHERE source = {0}) THEN {0} ELSE {1} END",
                  static_cast<int>(ClockSource::imported), static_cast<int>(ClockSource::activity));
  switch (time) {
    case TimeOf::device: return device;
    case TimeOf::counters: return fmt::format("{}", static_cast<int>(ClockSource::counters));
    case TimeOf::call:
      return fmt::format("CASE t.source WHEN {} THEN {} WHEN {} THEN {} ELSE {} END", static_cast<int>(Source::uprobe),
                         static_cast<int>(ClockSource::host), static_cast<int>(Source::imported),
                         static_cast<int>(ClockSource::imported), device);
    case TimeOf::host:
    case TimeOf::nothing: break;
  }
  return fmt::format("{}", static_cast<int>(ClockSource::host));
}

std::string mapped(std::string_view raw) {
  return fmt::format(
      "{0} + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * ({0} - c.zero_ns) / 1e9) AS INTEGER), 0)", raw);
}

std::string view(const Table& table, std::string_view name) {
  std::string columns = "t.rowid AS id", joins;
  for (const Column& column : table.columns) {
    if (column.name == "start_ns") {
      columns += fmt::format(",\n  {} AS start_ns", mapped("t.start_ns"));
    } else if (column.name == "duration_ns") {
      columns += fmt::format(",\n  {} AS end_ns,\n  t.duration_ns", mapped("(t.start_ns + t.duration_ns)"));
    } else if (column.references == "string") {
      // name_id → name
      columns += fmt::format(",\n  (SELECT value FROM string WHERE id = t.{}) AS {}", column.name,
                             column.name.substr(0, column.name.size() - 3));
    } else if (!column.enumeration.empty()) {
      columns += fmt::format(",\n  (SELECT name FROM enumerator WHERE enumeration = '{}' AND value = t.{}) AS {}",
                             column.enumeration, column.name, column.name);
    } else {
      columns += fmt::format(",\n  t.{}", column.name);
    }
    if (column.references == "kernel_shape") {
      columns +=
          ",\n  (SELECT value FROM string WHERE id = s.name_id) AS name,\n  s.grid_x * s.grid_y * s.grid_z AS blocks";
      joins += "\n  JOIN kernel_shape s ON s.id = t.shape_id";
    }
  }
  const std::string device = table.text.time == TimeOf::counters ? "c.device_id IS t.device_id" : "c.device_id IS NULL";
  return fmt::format(
      "CREATE TEMP VIEW {} AS SELECT\n  {}\nFROM {} t{}\n  LEFT JOIN clock_piece c ON c.source = {}\n    AND {} AND "
      "t.start_ns >= c.begin_ns AND t.start_ns < c.end_ns;\n",
      name, columns, table.text.name, joins, source_of(table.text.time), device);
}

}  // namespace

std::string view_statements() {
  // A piece holds from its from_ns to the next one's; the first also for what was before it. A device without pieces of its
  // own takes those of all devices.
  std::string sql =
      "CREATE TEMP VIEW clock_piece AS\n"
      "WITH piece AS (\n"
      "  SELECT rowid AS ordinal, source, device_id, from_ns, offset_ns, drift_ns_per_s FROM clock_mapping\n"
      "  UNION ALL\n"
      "  SELECT m.rowid, m.source, d.id, m.from_ns, m.offset_ns, m.drift_ns_per_s FROM clock_mapping m JOIN device d\n"
      "  WHERE m.device_id IS NULL\n"
      "    AND NOT EXISTS (SELECT 1 FROM clock_mapping own WHERE own.source = m.source AND own.device_id = d.id))\n"
      "SELECT source, device_id, from_ns AS zero_ns, offset_ns, drift_ns_per_s,\n"
      "  CASE WHEN row_number() OVER by_time = 1 THEN -9223372036854775807 ELSE from_ns END AS begin_ns,\n"
      "  lead(from_ns, 1, 9223372036854775807) OVER by_time AS end_ns\n"
      "FROM piece WINDOW by_time AS (PARTITION BY source, device_id ORDER BY from_ns, ordinal);\n";
  for (const Table& table : tables()) {
    for (const View& each : views) {
      if (each.table == table.text.name) {
        sql += "\n" + view(table, each.view);
      }
    }
  }
  return sql;
}

}  // namespace kvet::store
