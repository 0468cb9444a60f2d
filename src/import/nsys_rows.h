// One pass over some columns of one table of an export. A column that the table lacks reads as NULL.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "database/sqlite.h"

namespace kvet::importing {

class NsysFile;

class NsysRows {
 public:
  // The table must be there. The file must outlive the rows. Columns are numbered as they are named here.
  static Result<NsysRows> select(const NsysFile& file, std::string_view table,
                                 std::initializer_list<std::string_view> columns);

  //   while (rows->next()) { … one row … }
  //   return rows->end();
  // False at the end of the table, or of what can be read of it.
  bool next();
  // Which of the two it was. Errors are bad_input: damaged, or a table that claims more than the file can hold.
  [[nodiscard]] Result<void> end() const;

  // Empty where the column is NULL or absent, and where it is of another type (see wrong_type).
  std::optional<int64_t> integer(size_t column);
  std::optional<std::string_view> text(size_t column);  // holds until next()
  // The same, and empty where T cannot hold it.
  template <class T>
  std::optional<T> number(size_t column) {
    const auto value = integer(column);
    return value && std::in_range<T>(*value) ? std::optional(static_cast<T>(*value)) : std::nullopt;
  }

  // Whether a value that was asked for had another type than Nsight Systems gives it; then an error that says which.
  [[nodiscard]] bool wrong_type() const { return wrong_ != nullptr; }
  [[nodiscard]] std::unexpected<Error> refuse_type() const;

 private:
  explicit NsysRows(const NsysFile& file) : file_(&file) {}

  const NsysFile* file_;
  std::string table_;
  std::vector<std::string> columns_;
  database::StatementHandle statement_;
  const std::string* wrong_ = nullptr;
  std::optional<Error> fault_;
  uint64_t rows_ = 0, text_bytes_ = 0;
};

}  // namespace kvet::importing
