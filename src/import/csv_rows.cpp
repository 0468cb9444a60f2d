#include "import/csv_rows.h"

#include <algorithm>

namespace kvet::importing {

CsvRows::Step CsvRows::next() {
  if (rest_.empty()) {
    return Step::end;
  }
  row_line_ = next_line_;
  size_t field = 0, at = 0;
  auto open_field = [&] {
    if (field == fields_.size()) {
      fields_.emplace_back();
    }
    fields_[field].clear();
  };
  open_field();
  bool quoted = false;
  for (; at < rest_.size(); ++at) {
    const char c = rest_[at];
    next_line_ += c == '\n' ? 1 : 0;
    if (quoted) {
      if (c != '"') {
        fields_[field] += c;
      } else if (at + 1 < rest_.size() && rest_[at + 1] == '"') {
        fields_[field] += '"';
        ++at;
      } else {
        quoted = false;
      }
    } else if (c == '"' && fields_[field].empty()) {
      quoted = true;
    } else if (c == separator_) {
      if (++field == most_fields) {
        return Step::too_many_fields;
      }
      open_field();
    } else if (c == '\n') {
      break;
    } else if (c != '\r') {
      fields_[field] += c;
    }
  }
  fields_.resize(field + 1);
  rest_.remove_prefix(std::min(at + 1, rest_.size()));
  return quoted ? Step::open_quote : Step::row;
}

std::string_view CsvRows::peek() const { return rest_.substr(0, rest_.find('\n')); }

void CsvRows::skip_line() {
  rest_.remove_prefix(std::min(peek().size() + 1, rest_.size()));
  ++next_line_;
}

}  // namespace kvet::importing
