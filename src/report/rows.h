// Rows of a query, written one by one: docs/sql.md, "Formats".
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/cell.h"

namespace kvet::report {

enum class RowFormat { table, csv, json, jsonl };

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void row(const std::vector<Cell>& cells) = 0;
  virtual void end() = 0;  // after the last row; without it the output is not whole
};

// `write` gets pieces of the output, in order. On a terminal, csv spells control characters out.
[[nodiscard]] std::unique_ptr<RowWriter> make_row_writer(RowFormat format, const std::vector<std::string>& columns,
                                                         std::function<void(std::string_view)> write, bool terminal);

}  // namespace kvet::report
