// One value of a row that a query gave, as SQLite's storage classes have it (https://www.sqlite.org/datatype3.html, section 2).
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

namespace kvet {

struct Blob {
  std::string_view bytes;
};
// Text may hold any bytes; it points into the row, and ends with it.
using Cell = std::variant<std::monostate, int64_t, double, std::string_view, Blob>;

}  // namespace kvet
