// Views for people who ask the file by SQL: times mapped to CLOCK_MONOTONIC, intervals with an end, names instead of ids. They
// are TEMP views, made by the connection that wants them: a capture never holds any.
#pragma once

#include <string>
#include <vector>

namespace kvet::store {

struct ViewColumn {
  std::string name;
  std::string unit;  // "ns", "bytes", …; "" where it is a name or an id
  std::string prose;
  std::string expression;  // in SQL, over the view's row t
};
struct View {
  std::string name, prose;
  std::string statement;  // CREATE TEMP VIEW …;
  std::vector<ViewColumn> columns;
};

// In the order in which they have to be made: later ones use earlier ones.
[[nodiscard]] std::vector<View> views();

// All of their statements: for docs/queries/views.sql.
[[nodiscard]] std::string view_statements();

}  // namespace kvet::store
