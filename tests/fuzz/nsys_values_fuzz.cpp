// Nsight Systems exports whose structure is whole and whose values are not: bytes of the input choose values of a good file and
// what becomes of them, in SQL, so that every input gets past SQLite's own checks.
#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "nsys_input.h"

namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

struct Place {
  std::string table, column;
};

struct Good {
  std::vector<unsigned char> bytes;
  std::vector<Place> places;
};

void execute(sqlite3* database, const std::string& sql) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    std::abort();
  }
}

std::vector<std::string> column_of(sqlite3* database, const std::string& sql, int column) {
  std::vector<std::string> values;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    std::abort();
  }
  while (sqlite3_step(statement) == SQLITE_ROW) {
    values.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, column)));
  }
  sqlite3_finalize(statement);
  return values;
}

Database opened() {
  sqlite3* raw = nullptr;
  if (sqlite3_open(":memory:", &raw) != SQLITE_OK) {
    std::abort();
  }
  return Database{raw};
}

const Good& good() {
  static const Good made = [] {
    Good result;
    const std::ifstream file("src/import/testdata/nsys_3_25.sql");
    std::string sql{std::istreambuf_iterator<char>(file.rdbuf()), {}};
    if (sql.empty()) {
      std::fputs("run it in the root of the repository\n", stderr);
      std::exit(64);
    }
    // No NOT NULL: values become NULL, too. And tables that this file lacks.
    for (size_t at = sql.find(" NOT NULL"); at != std::string::npos; at = sql.find(" NOT NULL", at)) {
      sql.erase(at, 9);
    }
    sql +=
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (7000, 7100);";
    const Database database = opened();
    execute(database.get(), sql);
    for (const std::string& table :
         column_of(database.get(), "SELECT name FROM sqlite_schema WHERE type = 'table'", 0)) {
      for (const std::string& column : column_of(database.get(), "PRAGMA table_info(\"" + table + "\")", 1)) {
        result.places.push_back({table, column});
      }
    }
    sqlite3_int64 size = 0;
    unsigned char* bytes = sqlite3_serialize(database.get(), "main", &size, 0);
    result.bytes.assign(bytes, bytes + size);
    sqlite3_free(bytes);
    return result;
  }();
  return made;
}

constexpr auto odd = std::to_array<const char*>({
    "NULL",
    "0",
    "-1",
    "1",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "1000000000000000000",
    "1e300",
    "'text'",
    "x'00ff'",
    "''",
    "printf('%.*c', 5000, 'x')",
    "75",
    "59",
    "281476654432256",
});

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Good& from = good();
  const Database database = opened();
  // Its own memory: SQLite writes into it.
  auto* bytes = static_cast<unsigned char*>(sqlite3_malloc64(from.bytes.size()));
  std::copy(from.bytes.begin(), from.bytes.end(), bytes);
  const auto length = static_cast<sqlite3_int64>(from.bytes.size());
  if (sqlite3_deserialize(database.get(), "main", bytes, length, length,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) != SQLITE_OK) {
    std::abort();
  }
  // Six bytes a change: column (two), rows, kind of change, and two for a number.
  constexpr size_t step = 6, most = 8;
  for (size_t at = 0; at + step <= size && at < most * step; at += step) {
    const Place& place = from.places[(size_t{data[at]} << 8 | data[at + 1]) % from.places.size()];
    const int number = data[at + 4] << 8 | data[at + 5];
    const std::string where = data[at + 2] % 8 == 7 ? "" : " WHERE rowid % 8 = " + std::to_string(data[at + 2] % 8);
    const std::string column = '"' + place.column + '"';
    std::string sql;
    const std::string update = fmt::format("UPDATE OR IGNORE {} SET {} = ", place.table, column);
    switch (data[at + 3] % 5) {
      case 0: sql = fmt::format("{}{}{}", update, odd[static_cast<size_t>(number) % odd.size()], where); break;
      case 1: sql = fmt::format("{}{}{}", update, number, where); break;
      case 2: sql = fmt::format("{}{} + {}{}", update, column, number - 32768, where); break;
      case 3: sql = fmt::format("INSERT OR IGNORE INTO {0} SELECT * FROM {0}{1}", place.table, where); break;
      default:
        // Now and then: a file without tables says nothing about values.
        sql = number % 16 == 0   ? fmt::format("DROP TABLE IF EXISTS {}", place.table)
              : number % 16 == 1 ? fmt::format("ALTER TABLE {} DROP COLUMN {}", place.table, column)
                                 : fmt::format("{}NULL{}", update, where);
        break;
    }
    sqlite3_exec(database.get(), sql.c_str(), nullptr, nullptr, nullptr);  // some fail: of a table that was dropped
  }
  sqlite3_int64 written = 0;
  unsigned char* result = sqlite3_serialize(database.get(), "main", &written, SQLITE_SERIALIZE_NOCOPY);
  if (result != nullptr) {
    kvet::fuzz::import_nsys_bytes(result, static_cast<size_t>(written));
  }
  return 0;
}
