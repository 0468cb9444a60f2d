#include "report/layout.h"

#include <algorithm>

#include "base/safe_text.h"

namespace kvet::report {
namespace {

std::string_view escape_of(Style style) {
  switch (style) {
    case Style::plain: return "";
    case Style::bold: return "\033[1m";
    case Style::dim: return "\033[2m";
    case Style::warning: return "\033[1;33m";
  }
  return "";
}

// As many characters from the front of `word` as fit into `columns` (at least one); they are removed from it.
std::string take_columns(std::string_view& word, size_t columns) {
  size_t bytes = 0, used = 0;
  while (bytes < word.size()) {
    size_t next = bytes + 1;
    while (next < word.size() && (static_cast<unsigned char>(word[next]) & 0xc0u) == 0x80) {
      ++next;
    }
    const size_t width = display_width(word.substr(bytes, next - bytes));
    if (bytes > 0 && used + width > columns) {
      break;
    }
    used += width;
    bytes = next;
  }
  std::string piece(word.substr(0, bytes));
  word.remove_prefix(bytes);
  return piece;
}

}  // namespace

void Page::line(std::string_view text, Style style) {
  const size_t end = text.find_last_not_of(' ');
  text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  const std::string shown = display_width(text) > width_ ? safe_text(text, width_) : std::string(text);
  const std::string_view escape = colour_ && !shown.empty() ? escape_of(style) : "";
  text_ += escape;
  text_ += shown;
  text_ += escape.empty() ? "" : "\033[0m";
  text_ += '\n';
}

void Page::paragraph(std::string_view text, std::string_view first, std::string_view next, Style style) {
  const size_t indent = std::max(display_width(first), display_width(next));
  bool begun = false;
  for (const std::string& part : wrapped(text, width_ > indent + 20 ? width_ - indent : 20)) {
    line(std::string(begun ? next : first) + part, style);
    begun = true;
  }
}

std::vector<std::string> wrapped(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  std::string current;
  size_t used = 0;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    while (!word.empty()) {
      const size_t width = display_width(word);
      const size_t gap = current.empty() ? 0 : 1;
      if (used + gap + width <= columns) {
        current += gap == 1 ? " " : "";
        current += word;
        used += gap + width;
        break;
      }
      if (!current.empty()) {
        lines.push_back(std::move(current));
        current.clear();
        used = 0;
      } else {
        lines.push_back(take_columns(word, columns));
      }
    }
  }
  if (!current.empty() || lines.empty()) {
    lines.push_back(std::move(current));
  }
  return lines;
}

}  // namespace kvet::report
