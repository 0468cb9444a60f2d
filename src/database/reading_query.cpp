#include "database/reading_query.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace kvet::database {
namespace {

constexpr int64_t longest_query_bytes = 1 << 20;
constexpr int longest_like_pattern_bytes =
    1000;  // LIKE takes time beyond its text's length with every % in the pattern
constexpr int instructions_between_looks = 10'000;

// Those that describe a database and change nothing.
constexpr std::string_view reading_pragmas[] = {
    "application_id", "collation_list", "compile_options", "database_list", "foreign_key_list", "function_list",
    "index_info",     "index_list",     "index_xinfo",     "module_list",   "page_count",       "page_size",
    "pragma_list",    "table_info",     "table_list",      "table_xinfo",   "user_version"};
// Of these, an argument would be a new value.
constexpr std::string_view settable_pragmas[] = {"application_id", "page_count", "page_size", "user_version"};

int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool among(std::string_view name, auto& names) { return std::ranges::find(names, name) != std::end(names); }

std::string lower(const char* text) {
  std::string out = text == nullptr ? "" : text;
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

// What a statement would do, for the message that says that it may not.
std::string deed(int action, const char* first, const char* second) {
  switch (action) {
    case SQLITE_INSERT: return fmt::format("write to {}", first);
    case SQLITE_UPDATE: return fmt::format("change {}", first);
    case SQLITE_DELETE: return fmt::format("delete from {}", first);
    case SQLITE_ATTACH: return "open another file (ATTACH)";
    case SQLITE_DETACH: return "DETACH";
    case SQLITE_PRAGMA: return fmt::format("use PRAGMA {}{}", first, second == nullptr ? "" : " with a value");
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT: return "begin or end transactions";
    case SQLITE_FUNCTION: return fmt::format("call {}()", second);
    case SQLITE_ANALYZE: return "ANALYZE";
    case SQLITE_REINDEX: return "REINDEX";
    default: return "make or drop anything";
  }
}

// 1-based line and column (in bytes) of an offset.
std::string position(std::string_view sql, size_t offset) {
  const std::string_view before = sql.substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", line, offset - begin + 1);
}

}  // namespace

// What SQLite calls back while it prepares and runs the statement.
struct ReadingQuery::Guard {
  sqlite3* database = nullptr;
  std::string path, sql;
  QueryLimits limits;
  std::string denied;  // the deed that was refused
  int64_t used_ns = 0, step_begin_ns = 0;
  bool too_long = false, was_stopped = false;

  static int authorize(void* self, int action, const char* first, const char* second, const char*, const char*) {
    bool allowed = false;
    switch (action) {
      case SQLITE_SELECT:
      case SQLITE_READ:
      case SQLITE_RECURSIVE: allowed = true; break;
      // SQLite asks this of itself where a query uses a table-valued function. A statement that tried to change the schema
      // would not be a reading one, and the schema is defended.
      case SQLITE_UPDATE: allowed = lower(first) == "sqlite_master"; break;
      case SQLITE_FUNCTION: allowed = lower(second) != "load_extension"; break;
      case SQLITE_PRAGMA: {
        const std::string name = lower(first);
        allowed = among(name, reading_pragmas) && (second == nullptr || !among(name, settable_pragmas));
        break;
      }
      default: break;
    }
    if (!allowed) {
      static_cast<Guard*>(self)->denied = deed(action, first == nullptr ? "?" : first, second);
    }
    return allowed ? SQLITE_OK : SQLITE_DENY;
  }

  static int look(void* self) {
    auto& guard = *static_cast<Guard*>(self);
    guard.too_long = guard.used_ns + (now_ns() - guard.step_begin_ns) > guard.limits.time_ns;
    guard.was_stopped = guard.limits.stopped && guard.limits.stopped();
    return guard.too_long || guard.was_stopped ? 1 : 0;
  }
};

void ReadingQuery::Unguard::operator()(Guard* guard) const {
  sqlite3_progress_handler(guard->database, 0, nullptr, nullptr);
  sqlite3_set_authorizer(
      guard->database, [](void*, int, const char*, const char*, const char*, const char*) { return SQLITE_DENY; },
      nullptr);
  delete guard;
}

Error ReadingQuery::error() const {
  const Guard& guard = *guard_;
  const int code = sqlite3_errcode(guard.database);
  const char* const query = "query";
  switch (code & 0xff) {
    case SQLITE_AUTH:
      return {ErrorKind::usage, fmt::format("it would {}, and may only read", guard.denied), query,
              "Write a SELECT; `kvet sql --views` lists what there is"};
    case SQLITE_INTERRUPT:
      if (guard.was_stopped) {
        return {ErrorKind::interrupted, "stopped before its end", query, ""};
      }
      return {ErrorKind::interrupted,
              fmt::format("stopped: it took longer than {} s", static_cast<double>(guard.limits.time_ns) / 1e9), query,
              "Give it longer with --timeout, or ask for less"};
    case SQLITE_NOMEM:
      return {ErrorKind::usage, fmt::format("needs more than {} MiB of memory", guard.limits.memory_bytes >> 20), query,
              "Ask for less: fewer rows to keep, or a LIMIT"};
    case SQLITE_TOOBIG:
      return {ErrorKind::usage,
              fmt::format("makes a value or row longer than {} bytes",
                          sqlite3_limit(guard.database, SQLITE_LIMIT_LENGTH, -1)),
              query, "Ask for less in one value"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: return sqlite_error(guard.database, guard.path, ErrorKind::bad_input);
    case SQLITE_FULL:
      return {ErrorKind::internal, "there is no room for its temporary file", query,
              "Free space, or set SQLITE_TMPDIR"};
    default: break;
  }
  std::string what = sqlite3_errmsg(guard.database);
  if (const int offset = sqlite3_error_offset(guard.database);
      offset >= 0 && static_cast<size_t>(offset) <= guard.sql.size()) {
    what += ", " + position(guard.sql, static_cast<size_t>(offset));
  }
  std::string advice;
  if (what.starts_with("no such table") || what.starts_with("no such column")) {
    advice = "`kvet sql --views` lists what there is";
  }
  return {ErrorKind::usage, what, query, advice};
}

Result<ReadingQuery> ReadingQuery::prepare(sqlite3* database, const std::string& path, const std::string& sql,
                                           const std::map<std::string, std::string>& parameters, QueryLimits limits) {
  const auto refuse = [](std::string what, std::string advice) {
    return fail(ErrorKind::usage, std::move(what), "query", std::move(advice));
  };
  if (sql.size() > longest_query_bytes) {
    return refuse(fmt::format("is longer than {} bytes", longest_query_bytes), "");
  }
  if (sql.find('\0') != std::string::npos) {
    return refuse("holds a zero byte, " + position(sql, sql.find('\0')), "Give text");
  }
  sqlite3_limit(database, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, longest_like_pattern_bytes);
  sqlite3_limit(database, SQLITE_LIMIT_WORKER_THREADS, 0);
  sqlite3_hard_heap_limit64(limits.memory_bytes);

  ReadingQuery query;
  query.guard_.reset(new Guard{database, path, sql, std::move(limits), {}, 0, now_ns(), false, false});
  Guard* const guard = query.guard_.get();
  sqlite3_set_authorizer(database, &Guard::authorize, guard);
  sqlite3_progress_handler(database, instructions_between_looks, &Guard::look, guard);

  sqlite3_stmt* raw = nullptr;
  const char* tail = guard->sql.c_str();
  int code = sqlite3_prepare_v2(database, tail, -1, &raw, &tail);
  query.statement_.reset(raw);
  if (code != SQLITE_OK) {
    return std::unexpected(query.error());
  }
  if (raw == nullptr) {
    return refuse("there is no statement in it",
                  "Give one, such as: SELECT name, count(*) FROM executions GROUP BY name");
  }
  const auto rest = static_cast<size_t>(tail - guard->sql.c_str());
  for (sqlite3_stmt* more = nullptr; *tail != '\0';) {
    const char* const begin = tail;
    code = sqlite3_prepare_v2(database, begin, -1, &more, &tail);
    const StatementHandle second{more};
    if (code != SQLITE_OK || more != nullptr) {
      return refuse("there is more than one statement in it: the second begins after " + position(sql, rest),
                    "Give one at a time");
    }
    if (tail == begin) {
      break;
    }
  }
  if (sqlite3_stmt_readonly(raw) == 0) {  // nothing that the authorizer lets through
    return refuse("it would write, and may only read", "Write a SELECT");
  }
  for (int i = 0; i < sqlite3_column_count(raw); ++i) {
    const char* name = sqlite3_column_name(raw, i);
    query.columns_.emplace_back(name == nullptr ? "" : name);
  }
  if (auto bound = query.bind(parameters); !bound) {
    return std::unexpected(bound.error());
  }
  return query;
}

Result<void> ReadingQuery::bind(const std::map<std::string, std::string>& parameters) {
  std::map<std::string, std::string> left = parameters;
  for (int index = 1; index <= sqlite3_bind_parameter_count(statement_.get()); ++index) {
    const char* spelled = sqlite3_bind_parameter_name(statement_.get(), index);
    const std::string name = spelled == nullptr ? std::to_string(index) : std::string(spelled + 1);
    const auto found = parameters.find(name);
    if (found == parameters.end()) {
      return fail(ErrorKind::usage, fmt::format("wants a value for {}", spelled == nullptr ? "?" : spelled), "query",
                  fmt::format("Add --param {}=VALUE", name));
    }
    left.erase(name);
    const std::string& text = found->second;
    const char* const end = text.data() + text.size();
    int64_t integer = 0;
    double real = 0;
    if (const auto [stop, problem] = std::from_chars(text.data(), end, integer);
        problem == std::errc{} && stop == end) {
      sqlite3_bind_int64(statement_.get(), index, integer);
    } else if (const auto [stop2, problem2] = std::from_chars(text.data(), end, real);
               problem2 == std::errc{} && stop2 == end && std::isfinite(real)) {
      sqlite3_bind_double(statement_.get(), index, real);
    } else {
      sqlite3_bind_text(statement_.get(), index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    }
  }
  if (!left.empty()) {
    return fail(ErrorKind::usage, fmt::format("has no parameter :{}", left.begin()->first), "query",
                "Leave that --param out");
  }
  return {};
}

Result<bool> ReadingQuery::step() {
  guard_->step_begin_ns = now_ns();
  const int code = sqlite3_step(statement_.get());
  guard_->used_ns += now_ns() - guard_->step_begin_ns;
  if (code == SQLITE_DONE) {
    return false;
  }
  if (code != SQLITE_ROW) {
    return std::unexpected(error());
  }
  row_.clear();
  const int columns = sqlite3_column_count(statement_.get());
  for (int i = 0; i < columns; ++i) {
    sqlite3_stmt* const row = statement_.get();
    switch (sqlite3_column_type(row, i)) {
      case SQLITE_INTEGER: row_.emplace_back(int64_t{sqlite3_column_int64(row, i)}); break;
      case SQLITE_FLOAT: row_.emplace_back(sqlite3_column_double(row, i)); break;
      case SQLITE_TEXT: {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, i));
        row_.emplace_back(std::string_view(text == nullptr ? "" : text,
                                           text == nullptr ? 0 : static_cast<size_t>(sqlite3_column_bytes(row, i))));
        break;
      }
      case SQLITE_BLOB: {
        const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, i));
        row_.emplace_back(Blob{std::string_view(
            bytes == nullptr ? "" : bytes, bytes == nullptr ? 0 : static_cast<size_t>(sqlite3_column_bytes(row, i)))});
        break;
      }
      default: row_.emplace_back(std::monostate{}); break;
    }
  }
  return true;
}

}  // namespace kvet::database
