#include "base/quantity.h"

#include <charconv>
#include <cmath>
#include <string>

#include "base/text.h"

namespace kvet {

namespace {

struct Unit {
  std::string_view name;
  double nanoseconds;
};
constexpr Unit units[] = {{"ns", 1}, {"us", 1e3}, {"µs", 1e3},   {"ms", 1e6},  {"s", 1e9},
                          {"", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};

// The number at the front of `text`, which is moved past it. from_chars knows no locale: a comma is never a decimal point.
bool take_number(std::string_view& text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value)) {
    return false;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

Result<int64_t> parse_duration_ns(std::string_view text, std::string_view what) {
  std::string_view rest = trimmed(text);
  double number = 0;
  auto wrong = [&] {
    return fail(ErrorKind::usage, "'" + std::string(text) + "' is not a duration", std::string(what),
                "Write a number with a unit: 500us, 20ms, 1.5s, 10m, 2h");
  };
  if (!take_number(rest, number) || std::signbit(number)) {
    return wrong();
  }
  rest = trimmed(rest);
  for (const Unit& unit : units) {
    if (unit.name == rest) {
      const double nanoseconds = std::round(number * unit.nanoseconds);
      // 2^63 is exactly representable; every double below it fits.
      if (nanoseconds >= 9223372036854775808.0) {
        return wrong();
      }
      return static_cast<int64_t>(nanoseconds);
    }
  }
  return wrong();
}

Result<double> parse_claim(std::string_view text) {
  std::string_view rest = trimmed(text);
  const std::string quoted = "'" + std::string(text) + "'";
  double number = 0;
  if (!take_number(rest, number)) {
    return fail(ErrorKind::usage, quoted + " is not a ratio", "claim",
                "Write baseline time ÷ candidate time, such as 1.38");
  }
  if (rest == "%" || rest == " %") {
    return fail(ErrorKind::usage, quoted + " can be read in two ways", "claim",
                "Write baseline time ÷ candidate time: 38% more speed is 1.38, 38% less time is 1.61");
  }
  if ((!rest.empty() && rest != "x" && rest != "×") || number <= 0) {
    return fail(ErrorKind::usage, quoted + " is not a ratio", "claim",
                "Write baseline time ÷ candidate time, such as 1.38");
  }
  return number;
}

}  // namespace kvet
