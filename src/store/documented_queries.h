// The queries of docs/queries: one per question, over the views of views.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvet::store {

struct DocumentedQuery {
  std::string_view name;  // of its file
  std::string_view sql;   // begins with a comment that says what it answers
};
// By name.
[[nodiscard]] std::span<const DocumentedQuery> documented_queries();

// The comment at its beginning, in one line.
[[nodiscard]] std::string prose_of(const DocumentedQuery& query);
// The names behind colons, each once, in order.
[[nodiscard]] std::vector<std::string> parameters_of(const DocumentedQuery& query);

}  // namespace kvet::store
