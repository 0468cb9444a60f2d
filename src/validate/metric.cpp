#include "validate/metric.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <regex>

#include "base/text.h"

namespace kvet::validate {
namespace {

// std::regex recurses per character: a line is cut before it can exhaust the stack.
constexpr size_t line_limit = 4096;

Result<std::regex> compiled(const MetricRule& rule) {
  try {
    std::regex expression(rule.regex, std::regex::ECMAScript);
    if (expression.mark_count() != 1) {
      return fail(ErrorKind::usage, fmt::format("has {} groups where one is needed", expression.mark_count()), rule.regex,
                  "put parentheses around the number: 'throughput: ([0-9.]+)'");
    }
    return expression;
  } catch (const std::regex_error& failure) {
    return fail(ErrorKind::usage, std::string("is not a regular expression: ") + failure.what(), rule.regex);
  }
}

}  // namespace

Result<void> check_metric(const MetricRule& rule) {
  auto expression = compiled(rule);
  return expression ? Result<void>{} : std::unexpected(expression.error());
}

Result<double> find_metric(const MetricRule& rule, const std::string& output, const std::string& of_what) {
  auto expression = compiled(rule);
  if (!expression) {
    return std::unexpected(expression.error());
  }
  std::optional<std::string> found;
  std::string last_line;
  for (std::string_view line : split(output, '\n')) {
    std::string text(trimmed(line.substr(0, line_limit)));
    last_line = text.empty() ? last_line : text;
    std::smatch match;
    if (std::regex_search(text, match, *expression)) {
      found = match[1].str();
    }
  }
  if (!found) {
    return fail(ErrorKind::bad_input, fmt::format("no line matches metric '{}'", printable(rule.regex)), of_what,
                last_line.empty() ? "it printed nothing" : "its last line was: " + printable(last_line.substr(0, 120)));
  }
  double value = 0;
  auto [end, error] = std::from_chars(found->data(), found->data() + found->size(), value);
  if (error != std::errc{} || end != found->data() + found->size() || !std::isfinite(value) || value <= 0) {
    return fail(ErrorKind::bad_input, fmt::format("metric '{}' found \"{}\", not a positive number", printable(rule.regex),
                                                  printable(found->substr(0, 40))),
                of_what);
  }
  return value;
}

}  // namespace kvet::validate
