#include "import/decimal.h"

#include <charconv>
#include <system_error>

namespace kvet::importing {
namespace {

constexpr uint64_t limit = 4'000'000'000'000'000'000;

}  // namespace

std::optional<int64_t> scaled(std::string_view number, int power) {
  const bool negative = number.starts_with('-');
  number.remove_prefix(negative ? 1 : 0);
  const size_t exponent_at = number.find_first_of("eE");
  const std::string_view digits = number.substr(0, exponent_at);
  int64_t exponent = 0;
  if (exponent_at != std::string_view::npos) {
    std::string_view text = number.substr(exponent_at + 1);
    text.remove_prefix(text.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (error != std::errc{}) {
      exponent = text.starts_with('-') ? -1'000'000'000 : 1'000'000'000;  // beyond any number's digits
    }
    exponent = exponent < -1'000'000'000 ? -1'000'000'000 : exponent > 1'000'000'000 ? 1'000'000'000 : exponent;
  }
  const size_t point = digits.find('.');
  const size_t whole_digits = point == std::string_view::npos ? digits.size() : point;
  // So many digits make the whole number; what follows is rounded away.
  const int64_t wanted = static_cast<int64_t>(whole_digits) + exponent + power;
  uint64_t value = 0;
  int64_t seen = 0;
  for (const char letter : digits) {
    if (letter == '.') {
      continue;
    }
    const auto digit = static_cast<uint64_t>(letter - '0');
    if (seen == wanted) {
      value += digit >= 5 ? 1 : 0;
      ++seen;
      break;
    }
    if (seen > wanted) {
      break;
    }
    if (value > limit / 10) {
      return std::nullopt;
    }
    value = value * 10 + digit;
    ++seen;
  }
  for (; seen < wanted && value != 0; ++seen) {
    if (value > limit / 10) {
      return std::nullopt;
    }
    value *= 10;
  }
  if (value > limit) {
    return std::nullopt;
  }
  return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
}

template <class T>
std::optional<T> whole(std::string_view number) {
  T value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  return error == std::errc{} && end == number.data() + number.size() ? std::optional(value) : std::nullopt;
}
template std::optional<int64_t> whole(std::string_view);
template std::optional<int32_t> whole(std::string_view);
template std::optional<uint64_t> whole(std::string_view);
template std::optional<uint32_t> whole(std::string_view);

}  // namespace kvet::importing
