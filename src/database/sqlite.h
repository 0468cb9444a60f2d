// RAII over SQLite's C API. The one place that includes sqlite3.h.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvet::database {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using DatabaseHandle = std::unique_ptr<sqlite3, CloseDatabase>;
using StatementHandle = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// `path` is for messages: `name` may be a file: URI.
Result<DatabaseHandle> open_database(const std::string& name, int flags, const std::string& path, ErrorKind kind);
Result<StatementHandle> prepare(sqlite3* database, std::string_view sql, const std::string& path, ErrorKind kind);
Result<void> execute(sqlite3* database, const std::string& sql, const std::string& path, ErrorKind kind);

// What SQLite says about its last failure, as an error about the file at `path`.
[[nodiscard]] Error sqlite_error(sqlite3* database, const std::string& path, ErrorKind kind);

}  // namespace kvet::database
