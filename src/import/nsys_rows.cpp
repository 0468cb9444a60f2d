#include "import/nsys_rows.h"

#include <fmt/core.h>

#include "import/nsys_file.h"

namespace kvet::importing {

Result<NsysRows> NsysRows::select(const NsysFile& file, std::string_view table,
                                  std::initializer_list<std::string_view> columns) {
  NsysRows rows(file);
  rows.table_ = table;
  std::string list;
  for (const std::string_view column : columns) {
    rows.columns_.emplace_back(column);
    list += list.empty() ? "" : ",";
    list += file.has(table, column) ? fmt::format("\"{}\"", column) : "NULL";
  }
  // NOT INDEXED: an index may be damaged or lie.
  auto statement = database::prepare(file.database(), fmt::format("SELECT {} FROM \"{}\" NOT INDEXED", list, table),
                                     file.path(), ErrorKind::bad_input);
  if (!statement) {
    return std::unexpected(statement.error());
  }
  rows.statement_ = std::move(*statement);
  return rows;
}

bool NsysRows::next() {
  wrong_ = nullptr;
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW: break;
    case SQLITE_DONE: return false;
    case SQLITE_TOOBIG:
      fault_ =
          file_
              ->refuse(fmt::format(
                           "table {}, row {}: a value claims more than the file, or the {} MiB that are read, can hold",
                           table_, rows_, longest_value_bytes >> 20),
                       "Export it again with `nsys export --type sqlite`; take out that row if it stays")
              .error();
      return false;
    default: fault_ = database::sqlite_error(file_->database(), file_->path(), ErrorKind::bad_input); return false;
  }
  // A row takes five bytes at least (file format, sections 1.6 and 2.1), and a text its length: a tree whose pages point to
  // each other cannot make us fill the memory.
  if (++rows_ > file_->bytes() / 5 + 1 || text_bytes_ > file_->bytes()) {
    fault_ =
        file_->refuse(fmt::format("table {} claims more than the file can hold", table_), "Fetch it again").error();
    return false;
  }
  return true;
}

Result<void> NsysRows::end() const {
  if (fault_) {
    return std::unexpected(*fault_);
  }
  return {};
}

std::optional<int64_t> NsysRows::integer(size_t column) {
  switch (sqlite3_column_type(statement_.get(), static_cast<int>(column))) {
    case SQLITE_INTEGER: return sqlite3_column_int64(statement_.get(), static_cast<int>(column));
    case SQLITE_NULL: return std::nullopt;
    default: wrong_ = &columns_[column]; return std::nullopt;
  }
}

std::optional<std::string_view> NsysRows::text(size_t column) {
  switch (sqlite3_column_type(statement_.get(), static_cast<int>(column))) {
    case SQLITE_TEXT: break;
    case SQLITE_NULL: return std::nullopt;
    default: wrong_ = &columns_[column]; return std::nullopt;
  }
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), static_cast<int>(column)));
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), static_cast<int>(column)));
  text_bytes_ += size;
  return bytes != nullptr ? std::optional(std::string_view(bytes, size)) : std::nullopt;
}

std::unexpected<Error> NsysRows::refuse_type() const {
  return file_->refuse(fmt::format("table {}, row {}: {} is not of the type that Nsight Systems gives it", table_,
                                   rows_ - 1, wrong_ != nullptr ? *wrong_ : ""),
                       "Export it again with `nsys export --type sqlite`");
}

}  // namespace kvet::importing
