#include "store/open_capture.h"

#include <fmt/core.h>

#include <map>

#include "database/untrusted.h"
#include "store/schema.h"

namespace kvet::store {

using database::prepare;
using database::sqlite_error;

// Only what this version of kvet would have made is read; nothing in the file may run by itself.
Result<void> check_schema(sqlite3* database, const std::string& path) {
  std::map<std::string, std::string, std::less<>> expected;
  for (const Table& table : tables()) {
    expected.emplace(table.text.name, create_statement(table));
  }
  auto statement = prepare(database, "SELECT type, name, sql, rootpage FROM sqlite_schema", path, ErrorKind::bad_input);
  if (!statement) {
    return std::unexpected(statement.error());
  }
  const auto bad = [&](std::string what) { return fail(ErrorKind::bad_input, std::move(what), path, damaged_advice); };
  auto text = [&](int column) {
    const unsigned char* bytes = sqlite3_column_text(statement->get(), column);
    return bytes == nullptr ? std::string{}
                            : std::string(bytes, bytes + sqlite3_column_bytes(statement->get(), column));
  };
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement->get())) == SQLITE_ROW) {
    const std::string type = text(0), name = text(1), sql = text(2);
    if (type != "table" && type != "index") {
      return bad(
          fmt::format("the file holds a {} '{}', which a capture never does", type.substr(0, 20), name.substr(0, 60)));
    }
    if (auto found = expected.find(name); found != expected.end()) {
      if (type != "table" || sql != found->second) {
        return bad(fmt::format("table {} is not the one that kvet makes", name));
      }
      expected.erase(found);
    } else if (type == "table" && sqlite3_column_int64(statement->get(), 3) == 0) {
      return bad(fmt::format("the file holds a virtual table '{}', which a capture never does", name.substr(0, 60)));
    } else if (name == "enumerator" && sql != create_enumerator_statement()) {
      return bad("table enumerator is not the one that kvet makes");
    }
  }
  if (code != SQLITE_DONE) {
    return std::unexpected(sqlite_error(database, path, ErrorKind::bad_input));
  }
  if (!expected.empty()) {
    return bad(fmt::format("table {} is missing", expected.begin()->first));
  }
  return {};
}

Result<OpenCapture> open_capture(const std::string& path) {
  auto header = read_file_header(path);
  if (!header) {
    return std::unexpected(header.error());
  }
  auto database = database::open_untrusted(path, longest_value_bytes);
  if (!database) {
    return std::unexpected(database.error());
  }
  return OpenCapture{std::move(*database), *header};
}

}  // namespace kvet::store
