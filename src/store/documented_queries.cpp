#include "store/documented_queries.h"

#include <algorithm>

namespace kvet::store {
namespace {

constexpr std::string_view comment = "--";

// Takes the first line, without its newline.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

bool of_a_name(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

}  // namespace

std::string prose_of(const DocumentedQuery& query) {
  std::string prose;
  for (std::string_view rest = query.sql; rest.starts_with(comment);) {
    const std::string_view line = take_line(rest).substr(comment.size());
    prose += prose.empty() ? line.substr(std::min<size_t>(1, line.size())) : line;
  }
  return prose;
}

std::vector<std::string> parameters_of(const DocumentedQuery& query) {
  std::vector<std::string> names;
  for (std::string_view rest = query.sql; !rest.empty();) {
    const std::string_view line = take_line(rest);
    if (line.starts_with(comment)) {
      continue;
    }
    for (size_t at = line.find(':'); at != std::string_view::npos; at = line.find(':', at + 1)) {
      const auto* const end = std::find_if_not(line.begin() + at + 1, line.end(), of_a_name);
      std::string name(line.begin() + at + 1, end);
      if (!name.empty() && std::ranges::find(names, name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
  }
  return names;
}

}  // namespace kvet::store
