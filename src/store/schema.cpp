#include "store/schema.h"

#include <fmt/core.h>

#include <optional>

#include "store/enumerations.h"

namespace kvet::store {
namespace {

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

// Collects the columns of one table.
struct ColumnLister {
  std::vector<Column>& columns;

  template <class T>
  void add(std::string_view name, const char* type, const T&, std::string_view prose, std::string_view references = {},
           std::string_view enumeration = {}) {
    columns.push_back({std::string{name}, type, is_optional<T>, std::string{references}, std::string{enumeration},
                       std::string{prose}});
  }
  template <class T>
  void reference(std::string_view name, const T& field, std::string_view table, std::string_view prose) {
    add(name, "INTEGER", field, prose, table);
  }
  template <class T>
  void integer(std::string_view name, const T& field, std::string_view prose) {
    add(name, "INTEGER", field, prose);
  }
  void bits(std::string_view name, uint64_t field, std::string_view prose) { add(name, "INTEGER", field, prose); }
  template <class T>
  void real(std::string_view name, const T& field, std::string_view prose) {
    add(name, "REAL", field, prose);
  }
  void signed_real(std::string_view name, double field, std::string_view prose) { add(name, "REAL", field, prose); }
  void boolean(std::string_view name, bool field, std::string_view prose) { add(name, "INTEGER", field, prose); }
  void text(std::string_view name, const std::string& field, std::string_view prose) {
    add(name, "TEXT", field, prose);
  }
  template <class E>
  void enumeration(std::string_view name, E field, std::string_view prose) {
    add(name, "INTEGER", field, prose, {}, store::enumeration(field));
  }
  void identifier(std::string_view name, const std::array<uint8_t, 16>& field, std::string_view prose) {
    add(name, "BLOB", field, prose);
  }
  template <class T>
  void time(std::string_view name, const T& field, std::string_view prose) {
    add(name, "INTEGER", field, prose);
  }
  void interval(int64_t start, int64_t end, std::string_view prose) {
    add("start_ns", "INTEGER", start, fmt::format("{} Its begin.", prose));
    add("duration_ns", "INTEGER", end, "How long it took; never negative.");
  }
  void within(std::string_view name, int64_t, int64_t, int64_t point, std::string_view prose) {
    add(name, "INTEGER", point, prose);
  }
  void triple(std::string_view name, const std::array<uint32_t, 3>& field, std::string_view prose) {
    for (size_t axis = 0; axis < 3; ++axis) {
      add(fmt::format("{}_{}", name, "xyz"[axis]), "INTEGER", field[axis], prose);
    }
  }
};

template <class E>
void list(std::vector<Enumerator>& all) {
  for (int value = 0; value < enumerators<E>(); ++value) {
    all.push_back({enumeration(E{}), value, enumerator(static_cast<E>(value))});
  }
}

}  // namespace

std::vector<Table> tables() {
  std::vector<Table> all;
  for_each_table([&]<class Row>() {
    Table table{table_text<Row>, {}};
    Row row{};
    ColumnLister lister{table.columns};
    describe(lister, row);
    all.push_back(std::move(table));
  });
  return all;
}

std::string create_statement(const Table& table) {
  std::string sql = fmt::format("CREATE TABLE {}(", table.text.name);
  const char* separator = "";
  for (const Column& column : table.columns) {
    const bool key = column.name == table.text.key;
    sql += fmt::format("{}\n  {} {}{}{}", separator, column.name, column.type, key ? " PRIMARY KEY" : "",
                       column.nullable ? "" : " NOT NULL");
    separator = ",";
  }
  // WITHOUT ROWID spares the second tree of a text key.
  sql += fmt::format("\n) STRICT{}", table.text.key == "key" ? ", WITHOUT ROWID" : "");
  return sql;
}

std::string create_enumerator_statement() {
  return "CREATE TABLE enumerator(\n  enumeration TEXT NOT NULL,\n  value INTEGER NOT NULL,\n  name TEXT NOT NULL,\n"
         "  PRIMARY KEY (enumeration, value)\n) STRICT, WITHOUT ROWID";
}

std::vector<Enumerator> all_enumerators() {
  std::vector<Enumerator> all;
  list<ClockSource>(all);
  list<Source>(all);
  list<ContextSharing>(all);
  list<ApiKind>(all);
  list<TransferKind>(all);
  list<OffCpuReason>(all);
  list<CollectiveKind>(all);
  list<LossKind>(all);
  return all;
}

std::vector<Index> indices() {
  return {
      {"execution_by_shape", "CREATE INDEX execution_by_shape ON execution(shape_id)"},
      {"api_call_by_correlation", "CREATE INDEX api_call_by_correlation ON api_call(process_id, correlation_id)"},
      {"off_cpu_by_thread", "CREATE INDEX off_cpu_by_thread ON off_cpu(thread_id, start_ns)"},
  };
}

}  // namespace kvet::store
