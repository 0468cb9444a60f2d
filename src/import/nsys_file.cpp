#include "import/nsys_file.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/file_descriptor.h"
#include "base/input_file.h"
#include "database/untrusted.h"
#include "import/nsys_rows.h"

namespace kvet::importing {
namespace {

constexpr const char* export_again = "Export it again with `nsys export --type sqlite`";

// Names and values of a few hundred facts; more is not what Nsight Systems writes.
constexpr size_t most_facts = 100'000;
constexpr size_t longest_fact_bytes = 4096;

// The first bytes against the size: a copy that was cut short (https://www.sqlite.org/fileformat2.html, section 1.3).
Result<uint64_t> size_of(const std::string& path) {
  const auto opened = open_regular_file(path);
  if (!opened) {
    return std::unexpected(opened.error());
  }
  const FileDescriptor& file = *opened;
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) {
    return fail(ErrorKind::bad_input, fmt::format("could not be opened: {}", std::strerror(errno)), path,
                "Check the name and the permissions");
  }
  std::array<unsigned char, 100> bytes{};
  if (::pread(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(ErrorKind::bad_input, "the database is truncated: its header is not whole", path, "Fetch it again");
  }
  const uint64_t stored_page = uint64_t{bytes[16]} << 8 | bytes[17];
  const uint64_t page = stored_page == 1 ? 65536 : stored_page;
  const uint64_t pages = uint64_t{bytes[28]} << 24 | uint64_t{bytes[29]} << 16 | uint64_t{bytes[30]} << 8 | bytes[31];
  const auto size = static_cast<uint64_t>(status.st_size);
  if (page * pages > size) {
    return fail(ErrorKind::bad_input, fmt::format("the database is truncated: {} bytes of {}", size, page * pages),
                path, "Fetch it again, or export it again with `nsys export --type sqlite`");
  }
  if (database::in_use(file.get()) || database::has_log(path)) {
    return fail(ErrorKind::bad_input, "another program is writing this database, or was stopped while it did", path,
                "Wait until it has finished, or export it again with `nsys export --type sqlite`");
  }
  return size;
}

}  // namespace

Result<NsysFile> NsysFile::open(const std::string& path) {
  const auto bytes = size_of(path);
  if (!bytes) {
    return std::unexpected(bytes.error());
  }
  NsysFile file;
  file.path_ = path;
  file.bytes_ = *bytes;
  auto opened = database::open_untrusted(path, static_cast<int64_t>(std::min(*bytes, longest_value_bytes)) + 4096);
  if (!opened) {
    return std::unexpected(opened.error());
  }
  file.database_ = std::move(*opened);
  if (auto probed = file.probe(); !probed) {
    return std::unexpected(probed.error());
  }
  return file;
}

Result<void> NsysFile::probe() {
  auto statement =
      database::prepare(database_.get(), "SELECT type, name, sql FROM sqlite_schema", path_, ErrorKind::bad_input);
  if (!statement) {
    return std::unexpected(statement.error());
  }
  const auto text = [&](int column) {
    const unsigned char* bytes = sqlite3_column_text(statement->get(), column);
    return bytes == nullptr ? std::string{}
                            : std::string(bytes, bytes + sqlite3_column_bytes(statement->get(), column));
  };
  std::vector<std::string> tables;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement->get())) == SQLITE_ROW) {
    const std::string type = text(0), name = text(1);
    const bool computed = text(2).substr(0, 30).find("VIRTUAL") != std::string::npos;
    if ((type != "table" && type != "index") || computed) {
      return refuse(fmt::format("holds a {} '{}', which Nsight Systems never writes",
                                computed ? "virtual table" : type.substr(0, 20), name.substr(0, 60)),
                    export_again);
    }
    // Nsight Systems' names are words; another name cannot be one of its tables.
    if (type == "table" &&
        std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; })) {
      tables.push_back(name);
    }
  }
  if (code != SQLITE_DONE) {
    return std::unexpected(database::sqlite_error(database_.get(), path_, ErrorKind::bad_input));
  }
  for (const std::string& table : tables) {
    auto columns = database::prepare(database_.get(), fmt::format("PRAGMA table_xinfo(\"{}\")", table), path_,
                                     ErrorKind::bad_input);
    if (!columns) {
      return std::unexpected(columns.error());
    }
    auto& names = columns_[table];
    while (sqlite3_step(columns->get()) == SQLITE_ROW) {
      constexpr int name = 1, hidden = 6;  // https://www.sqlite.org/pragma.html#pragma_table_xinfo
      const unsigned char* bytes = sqlite3_column_text(columns->get(), name);
      if (bytes != nullptr && sqlite3_column_int(columns->get(), hidden) == 0) {
        names.emplace(bytes, bytes + sqlite3_column_bytes(columns->get(), name));
      }
    }
  }
  const bool known = has("META_DATA_EXPORT") || has("EXPORT_META_DATA") || has("StringIds", "value");
  if (!known) {
    return refuse("is an SQLite database, but neither a capture nor an export of Nsight Systems",
                  "Give what `kvet record` or `nsys export --type sqlite` wrote");
  }
  for (const std::string_view table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
    if (auto read = read_facts(table, exported_); !read) {
      return read;
    }
  }
  for (const std::string_view table : {"META_DATA_CAPTURE", "EXPORT_META_DATA"}) {
    if (auto read = read_facts(table, captured_); !read) {
      return read;
    }
  }
  return {};
}

Result<void> NsysFile::read_facts(std::string_view table, Facts& into) {
  if (!has(table, "name") || !has(table, "value")) {
    return {};
  }
  auto rows = NsysRows::select(*this, table, {"name", "value"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  while (into.size() < most_facts && rows->next()) {
    const auto name = rows->text(0), value = rows->text(1);
    if (name && value && name->size() <= longest_fact_bytes) {
      into.emplace(*name, value->substr(0, longest_fact_bytes));
    }
  }
  return rows->end();
}

bool NsysFile::has(std::string_view table, std::string_view column) const {
  const auto found = columns_.find(table);
  return found != columns_.end() && found->second.contains(column);
}

std::string NsysFile::exported(std::string_view name) const {
  const auto found = exported_.find(name);
  return found == exported_.end() ? std::string{} : found->second;
}

std::string NsysFile::captured(std::string_view name) const {
  const auto found = captured_.find(name);
  return found == captured_.end() ? std::string{} : found->second;
}

std::unexpected<Error> NsysFile::refuse(std::string what, std::string advice) const {
  return fail(ErrorKind::bad_input, std::move(what), path_, std::move(advice));
}

}  // namespace kvet::importing
