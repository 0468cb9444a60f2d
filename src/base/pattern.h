// Regular expressions (ECMAScript, searched and not anchored) that a person writes, on text that a stranger writes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvet {

class Pattern {
 public:
  // Errors are usage: not a regular expression.
  static Result<Pattern> compile(const std::string& expression);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  // Only the first text_limit bytes are looked at: std::regex recurses per character and would exhaust the stack.
  static constexpr size_t text_limit = 4096;
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
