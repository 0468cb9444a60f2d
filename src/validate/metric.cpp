#include "validate/metric.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "base/pattern.h"
#include "base/text.h"

namespace kvet::validate {
namespace {

Result<Pattern> compiled(const MetricRule& rule) {
  auto expression = Pattern::compile(rule.regex);
  if (expression && expression->groups() != 1) {
    return fail(ErrorKind::usage, fmt::format("has {} groups where one is needed", expression->groups()), rule.regex,
                "put parentheses around the number: 'throughput: ([0-9.]+)'");
  }
  return expression;
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
    const std::string_view text = trimmed(line);
    if (!text.empty()) {
      last_line = text.substr(0, 120);
    }
    if (auto group = expression->first_group(text)) {
      found = std::move(group);
    }
  }
  if (!found) {
    return fail(ErrorKind::bad_input, fmt::format("no line matches metric '{}'", printable(rule.regex)), of_what,
                last_line.empty() ? "it printed nothing" : "its last line was: " + printable(last_line));
  }
  double value = 0;
  auto [end, error] = std::from_chars(found->data(), found->data() + found->size(), value);
  if (error != std::errc{} || end != found->data() + found->size() || !std::isfinite(value) || value <= 0) {
    return fail(ErrorKind::bad_input,
                fmt::format("metric '{}' found \"{}\", not a positive number", printable(rule.regex),
                            printable(found->substr(0, 40))),
                of_what);
  }
  return value;
}

}  // namespace kvet::validate
