#include "database/untrusted.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kvet::database {
namespace {

// A file: URI with everything escaped that could be taken for a query.
std::string uri(const std::string& path, std::string_view query) {
  std::string text = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '.' || c == '-' || c == '_';
    text += plain ? std::string{c} : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text + std::string{query};
}

}  // namespace

bool has_log(const std::string& path) {
  struct stat wal{};
  return (::stat((path + "-wal").c_str(), &wal) == 0 && wal.st_size > 0) ||
         ::access((path + "-journal").c_str(), F_OK) == 0;
}

// SQLite locks bytes from 1 GiB on (its file format, section 1.1 and os.h: PENDING_BYTE); a connection in WAL mode holds a
// shared lock there for as long as it lives.
bool in_use(int descriptor) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0x40000000;
  lock.l_len = 512;
  return ::fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Result<void> distrust(sqlite3* database, const std::string& path, int64_t longest_value_bytes) {
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);  // TEMP ones are ours, and still work
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, static_cast<int>(longest_value_bytes));
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  return execute(database, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA busy_timeout=2000;", path,
                 ErrorKind::bad_input);
}

Result<DatabaseHandle> open_untrusted(const std::string& path, int64_t longest_value_bytes) {
  const bool logged = has_log(path);  // where there is none, nobody writes: `immutable` reads without a lock
  // With a log, SQLite needs its shared index (-shm) there, or must roll a journal back.
  auto database = logged ? open_database(path, SQLITE_OPEN_READWRITE, path, ErrorKind::bad_input)
                         : open_database(uri(path, "?immutable=1"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path,
                                         ErrorKind::bad_input);
  if (!database) {
    return database;
  }
  // Reading must not fold the log into the file: what a killed writer left stays as it is.
  sqlite3_db_config(database->get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (auto safe = distrust(database->get(), path, longest_value_bytes); !safe) {
    return std::unexpected(safe.error());
  }
  // The first read shows whether this is a database, and whether its log can be used.
  if (auto probe = execute(database->get(), "SELECT 1 FROM sqlite_schema LIMIT 1", path, ErrorKind::bad_input);
      !probe) {
    const int code = sqlite3_errcode(database->get());
    if (logged && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY)) {
      return fail(ErrorKind::bad_input,
                  "the file has a log beside it, and reading that needs a folder that may be written", path,
                  "copy the file together with its -wal (or -journal) to such a folder");
    }
    return std::unexpected(probe.error());
  }
  return database;
}

}  // namespace kvet::database
