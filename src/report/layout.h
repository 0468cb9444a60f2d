// Lines of text of a bounded width, with optional colour.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvet::report {

enum class Style { plain, bold, dim, warning };

// Collects lines. Everything given must be safe (see safe_text); a line that is too long is cut, never let through.
class Page {
 public:
  Page(size_t width, bool colour) : width_(width), colour_(colour) {}

  void line(std::string_view text, Style style = Style::plain);
  void blank() { line(""); }
  // Words flow from the first line, which begins with `first`, to lines that begin with `next`.
  void paragraph(std::string_view text, std::string_view first, std::string_view next, Style style = Style::plain);

  [[nodiscard]] size_t width() const { return width_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  size_t width_;
  bool colour_;
  std::string text_;
};

// The words of a text in lines of at most `columns`; a word that is longer than a line is cut into pieces.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, size_t columns);

}  // namespace kvet::report
