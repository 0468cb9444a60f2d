// Regular expressions (ECMAScript, searched and not anchored) that a person writes, on text that a stranger writes. A capture
// carries patterns too, so the expression may be a stranger's as well.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvet {

class Pattern {
 public:
  // std::regex recurses per character of the expression when it compiles it.
  static constexpr size_t expression_limit = 2048;
  // Errors are usage: not a regular expression, or too long for one.
  static Result<Pattern> compile(const std::string& expression);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  // Only the first text_limit bytes are looked at: the time of a search can grow with the square of the text.
  static constexpr size_t text_limit = 8192;
  [[nodiscard]] bool found_in(std::string_view text) const;
  // What the first group matched, where the expression is found.
  [[nodiscard]] std::optional<std::string> first_group(std::string_view text) const;
  [[nodiscard]] unsigned groups() const;

 private:
  struct Compiled;
  explicit Pattern(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace kvet
