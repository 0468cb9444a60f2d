#include "database/sqlite.h"

#include <fmt/core.h>

#include <cstring>

namespace kvet::database {

Error sqlite_error(sqlite3* database, const std::string& path, ErrorKind kind) {
  const int code = database != nullptr ? sqlite3_errcode(database) : SQLITE_NOMEM;
  std::string what = database != nullptr ? sqlite3_errmsg(database) : "out of memory";
  std::string advice;
  switch (code & 0xff) {
    case SQLITE_FULL:
      kind = ErrorKind::internal;  // output that could not be written: docs/exit-status.md
      advice = "free some space on that disk, or write to another one with -o";
      break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      what = fmt::format("the file is damaged ({})", what);
      advice = "fetch the file again, or make it again";
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      what = "the file is in use by another process";
      advice = "wait until that has finished with it";
      break;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      if (const int system = database != nullptr ? sqlite3_system_errno(database) : 0; system != 0) {
        what = fmt::format("{} ({})", what, std::strerror(system));
      }
      if (kind == ErrorKind::unavailable) {  // output, again
        kind = ErrorKind::internal;
        advice = (code & 0xff) == SQLITE_CANTOPEN ? "choose a folder that exists and can be written, with -o"
                                                  : "write to another disk with -o";
      }
      break;
    default: break;
  }
  return Error{kind, what, path, advice};
}

Result<DatabaseHandle> open_database(const std::string& name, int flags, const std::string& path, ErrorKind kind) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  DatabaseHandle database{raw};
  if (code != SQLITE_OK) {
    return std::unexpected(sqlite_error(raw, path, kind));
  }
  return database;
}

Result<StatementHandle> prepare(sqlite3* database, std::string_view sql, const std::string& path, ErrorKind kind) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &raw, nullptr) != SQLITE_OK) {
    return std::unexpected(sqlite_error(database, path, kind));
  }
  return StatementHandle{raw};
}

Result<void> execute(sqlite3* database, const std::string& sql, const std::string& path, ErrorKind kind) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return std::unexpected(sqlite_error(database, path, kind));
  }
  return {};
}

}  // namespace kvet::database
