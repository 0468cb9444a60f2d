#include "store/views.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "store/schema.h"

namespace kvet::store {
namespace {

// A view is called like its table, in the plural.
struct Plural {
  std::string_view table, view;
};
constexpr std::array<Plural, 14> plurals{{
    {"process", "processes"},
    {"device", "devices"},
    {"context", "contexts"},
    {"kernel_shape", "kernel_shapes"},
    {"api_call", "api_calls"},
    {"execution", "executions"},
    {"transfer", "transfers"},
    {"nvtx_range", "nvtx_ranges"},
    {"off_cpu", "off_cpus"},
    {"collective_call", "collective_calls"},
    {"communicator", "communicators"},
    {"sample", "samples"},
    {"device_reading", "device_readings"},
    {"loss", "losses"},
}};

// Columns carry their unit at the end of their name.
std::string unit_of(std::string_view column) {
  struct Suffix {
    std::string_view suffix, unit;
  };
  constexpr std::array<Suffix, 13> suffixes{{{"_ns", "ns"},
                                             {"_bytes_per_s", "bytes/s"},
                                             {"_ns_per_s", "ns/s"},
                                             {"_byte_cycles", "bytes × cycles"},
                                             {"_bytes", "bytes"},
                                             {"_bytes_per_thread", "bytes"},
                                             {"_bytes_per_block", "bytes"},
                                             {"_bytes_per_multiprocessor", "bytes"},
                                             {"_percent", "%"},
                                             {"_milliwatts", "mW"},
                                             {"_mhz", "MHz"},
                                             {"_celsius", "°C"},
                                             {"_cycles", "cycles"}}};
  for (const Suffix& each : suffixes) {
    if (column.ends_with(each.suffix)) {
      return std::string{each.unit};
    }
  }
  return "";
}

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

View view(const Table& table, std::string_view name) {
  View made{std::string{name}, std::string{table.text.prose}, "", {}};
  std::string joins;
  const auto add = [&](std::string column, std::string prose, std::string expression) {
    std::string unit = unit_of(column);
    made.columns.push_back({std::move(column), std::move(unit), std::move(prose), std::move(expression)});
  };
  // Other tables' times are on the host's clock already, which nothing maps.
  const bool interval = std::ranges::any_of(table.columns, [](const Column& c) { return c.name == "duration_ns"; });
  if (table.text.key.empty()) {
    add("id", "Number of the row.", "t.rowid");
  }
  for (const Column& column : table.columns) {
    if (interval && column.name == "start_ns") {
      add("start_ns", column.prose + " On CLOCK_MONOTONIC.", mapped("t.start_ns"));
    } else if (interval && column.name == "duration_ns") {
      add("end_ns", "Its end, on CLOCK_MONOTONIC.", mapped("(t.start_ns + t.duration_ns)"));
      add("duration_ns", column.prose, "t.duration_ns");
    } else if (column.references == "string") {  // name_id → name
      add(column.name.substr(0, column.name.size() - 3), column.prose,
          fmt::format("(SELECT value FROM string WHERE id = t.{})", column.name));
    } else if (!column.enumeration.empty()) {
      add(column.name, fmt::format("{} A name of enumeration {}.", column.prose, column.enumeration),
          fmt::format("(SELECT name FROM enumerator WHERE enumeration = '{}' AND value = t.{})", column.enumeration,
                      column.name));
    } else if (column.type == "BLOB") {
      add(column.name, column.prose + " In hexadecimal.", fmt::format("lower(hex(t.{}))", column.name));
    } else {
      const std::string of = column.references.empty() ? "" : fmt::format(" Row of {}.", column.references);
      add(column.name, column.prose + of, "t." + column.name);
    }
    if (column.references == "kernel_shape") {
      add("name", "The kernel's mangled name.", "(SELECT value FROM string WHERE id = s.name_id)");
      add("blocks", "Blocks in the grid; 0: unknown.", "s.grid_x * s.grid_y * s.grid_z");
      joins += "\n  JOIN kernel_shape s ON s.id = t.shape_id";
    }
  }
  if (interval) {
    const std::string device =
        table.text.time == TimeOf::counters ? "c.device_id IS t.device_id" : "c.device_id IS NULL";
    joins += fmt::format(
        "\n  LEFT JOIN clock_piece c ON c.source = {}\n    AND {} AND t.start_ns >= c.begin_ns AND t.start_ns < "
        "c.end_ns",
        source_of(table.text.time), device);
  }
  std::string columns;
  for (const ViewColumn& column : made.columns) {
    columns += (columns.empty() ? "  " : ",\n  ") + column.expression;
    // t.x is called x anyway
    columns += column.expression == "t." + column.name ? "" : " AS " + column.name;
  }
  made.statement =
      fmt::format("CREATE TEMP VIEW {} AS SELECT\n{}\nFROM {} t{};\n", name, columns, table.text.name, joins);
  return made;
}

// A piece holds from its from_ns to the next one's; the first also for what was before it. A device without pieces of its
// own takes those of all devices.
View clock_piece() {
  return {
      "clock_piece",
      "Which clock_mapping row maps which raw times, for the views below. A device without rows of its own has those "
      "of all.",
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
      "FROM piece WINDOW by_time AS (PARTITION BY source, device_id ORDER BY from_ns, ordinal);\n",
      {{"source", "", "Which clock, as a number of enumeration clock_source.", ""},
       {"device_id", "", "Of which device; NULL: of all.", ""},
       {"zero_ns", "ns", "Raw time at which the offset holds.", ""},
       {"offset_ns", "ns", "What to add.", ""},
       {"drift_ns_per_s", "ns/s", "What to add per second since zero_ns.", ""},
       {"begin_ns", "ns", "Raw time from which the row holds.", ""},
       {"end_ns", "ns", "Raw time before which it holds.", ""}}};
}

}  // namespace

std::vector<View> views() {
  std::vector<View> all{clock_piece()};
  const std::vector<Table> everything = tables();
  for (const Plural& plural : plurals) {
    for (const Table& table : everything) {
      if (table.text.name == plural.table) {
        all.push_back(view(table, plural.view));
      }
    }
  }
  return all;
}

std::string view_statements() {
  std::string sql;
  for (const View& each : views()) {
    sql += (sql.empty() ? "" : "\n") + each.statement;
  }
  return sql;
}

}  // namespace kvet::store
