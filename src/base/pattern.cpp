#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 sees uninitialised members inside <regex> when the sanitizers are on: a false alarm (its bug 105562).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "base/pattern.h"

#include <regex>
#include <utility>

namespace kvet {

struct Pattern::Compiled {
  std::regex expression;
};

Pattern::Pattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(const std::string& expression) {
  // What is wrong with a pattern that is too long to be compiled is its length: nobody wants to read all of it.
  constexpr size_t shown = 60;
  if (expression.size() > expression_limit) {
    return fail(ErrorKind::usage, "is too long for a pattern (" + std::to_string(expression.size()) + " bytes)",
                expression.substr(0, shown) + "...",
                "Patterns may have up to " + std::to_string(expression_limit) + " bytes");
  }
  try {
    // __polynomial: libstdc++'s breadth-first matcher. Its default one recurses per character and backtracks without
    // bound, which a hostile text would turn into an endless search; back-references are refused in return.
    return Pattern(std::make_unique<Compiled>(
        std::regex(expression, std::regex::ECMAScript | std::regex_constants::__polynomial)));
  } catch (const std::regex_error& failure) {
    return fail(ErrorKind::usage, std::string("is not a regular expression: ") + failure.what(), expression,
                "Patterns are ECMAScript regular expressions without back-references; write \\( for a parenthesis and "
                "\\[ for a bracket");
  }
}

bool Pattern::found_in(std::string_view text) const {
  text = text.substr(0, text_limit);
  return std::regex_search(text.begin(), text.end(), compiled_->expression);
}

std::optional<std::string> Pattern::first_group(std::string_view text) const {
  text = text.substr(0, text_limit);
  std::match_results<std::string_view::const_iterator> match;
  if (!std::regex_search(text.begin(), text.end(), match, compiled_->expression) || match.size() < 2) {
    return std::nullopt;
  }
  return match[1].str();
}

unsigned Pattern::groups() const { return compiled_->expression.mark_count(); }

}  // namespace kvet
