// Queries of people on a database of strangers: they read, and do nothing else; what they may cost is bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/cell.h"
#include "base/result.h"
#include "database/sqlite.h"

namespace kvet::database {

struct QueryLimits {
  int64_t time_ns = 0;           // spent in SQLite, over the whole query
  int64_t memory_bytes = 0;  // of SQLite in this process, sorters and temporary tables included: more go to a file
  std::function<bool()> stopped;  // asked often: the user wants it to end
};

// One statement. Errors are usage where the query is at fault, with the line and column in it; bad_input where the file is;
// interrupted where it was stopped or took too long.
class ReadingQuery {
 public:
  // `path` is for messages. Parameters are given without their colon, and bound as the integer, real or text that they look
  // like; all of the query's must be there, and no other. From here on the connection runs reading statements alone:
  // SELECT (with recursion), EXPLAIN, and pragmas that describe tables.
  static Result<ReadingQuery> prepare(sqlite3* database, const std::string& path, const std::string& sql,
                                      const std::map<std::string, std::string>& parameters, QueryLimits limits);

  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  // The next row; false at the end.
  Result<bool> step();
  [[nodiscard]] const std::vector<Cell>& row() const { return row_; }  // holds until the next step

 private:
  struct Guard;
  struct Unguard {
    void operator()(Guard* guard) const;
  };
  ReadingQuery() = default;
  Result<void> bind(const std::map<std::string, std::string>& parameters);
  [[nodiscard]] Error error() const;

  std::unique_ptr<Guard, Unguard> guard_;
  StatementHandle statement_;
  std::vector<std::string> columns_;
  std::vector<Cell> row_;
};

}  // namespace kvet::database
