#include "import/locale_number.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace kvet::importing {
namespace {

constexpr size_t longest_number = 64;

bool digit(char c) { return c >= '0' && c <= '9'; }

// Spaces and apostrophes between thousands never say which mark begins the decimals: they are taken out beforehand. Empty: these
// characters stand where no group of three digits follows.
std::optional<std::string> without_spaces(std::string_view text) {
  constexpr std::string_view separators[] = {" ", "'", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89", "\xe2\x80\x99"};
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t length = 0;
    for (std::string_view separator : separators) {
      length = text.substr(at).starts_with(separator) ? separator.size() : length;
    }
    if (length == 0) {
      out += text[at++];
      continue;
    }
    at += length;
    const std::string_view group = text.substr(at, 3);
    const bool whole =
        group.size() == 3 && std::ranges::all_of(group, digit) && (at + 3 == text.size() || !digit(text[at + 3]));
    if (out.empty() || !digit(out.back()) || !whole) {
      return std::nullopt;
    }
  }
  return out;
}

// Sign, digits with '.' and ',', exponent: the form of a number, whatever its marks mean.
bool numeric(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  const size_t exponent = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, exponent);
  return !mantissa.empty() && std::ranges::any_of(mantissa, digit) &&
         std::ranges::all_of(mantissa, [](char c) { return digit(c) || c == '.' || c == ','; });
}

}  // namespace

void DecimalMark::see(std::string_view text, size_t line) {
  text = trimmed(text);
  if (text.size() > longest_number) {
    return;
  }
  const auto plain = without_spaces(text);
  if (!plain || !numeric(*plain)) {
    return;
  }
  const std::string_view mantissa = std::string_view(*plain).substr(0, plain->find_first_of("eE"));
  const size_t last = mantissa.find_last_of(".,");
  if (last == std::string_view::npos) {
    return;
  }
  const char mark = mantissa[last];
  const char other = mark == '.' ? ',' : '.';
  const auto count = std::ranges::count(mantissa, mark);
  char decimal = 0;
  if (mantissa.find(other) != std::string_view::npos) {
    decimal = count == 1 ? mark : other;  // 1.234,5 and 1.234.567,8; 1,234,567.8 has its last mark once
  } else if (count > 1) {
    decimal = other;  // thousands alone repeat
  } else {
    const size_t first_digit = mantissa.find_first_of("0123456789");
    const size_t before = last - std::min(first_digit, last);
    const bool group = mantissa.size() - last - 1 == 3 && before >= 1 && before <= 3 && mantissa[first_digit] != '0';
    decimal = group ? 0 : mark;
  }
  size_t& seen = decimal == '.' ? point_line_ : comma_line_;
  if (decimal != 0 && seen == 0) {
    seen = line;
  }
}

Result<char> DecimalMark::decide(const std::string& path) const {
  if (point_line_ > 0 && comma_line_ > 0) {
    return fail(
        ErrorKind::bad_input,
        fmt::format("writes decimals with a point in line {} and with a comma in line {}", point_line_, comma_line_),
        path, "Write the file again in one locale: LC_ALL=C ncu --csv …");
  }
  return comma_line_ > 0 ? ',' : '.';
}

std::optional<double> locale_number(std::string_view text, char decimal) {
  text = trimmed(text);
  const auto plain = text.size() <= longest_number ? without_spaces(text) : std::nullopt;
  if (!plain || !numeric(*plain)) {
    return std::nullopt;
  }
  const char thousands = decimal == '.' ? ',' : '.';
  std::string number;
  size_t digits = 0;  // since the last separator of thousands
  bool grouped = false, fraction = false;
  for (char c : *plain) {
    if (c == thousands) {
      if (fraction || digits == 0 || (grouped && digits != 3) || digits > 3) {
        return std::nullopt;
      }
      grouped = true;
      digits = 0;
      continue;
    }
    if (c == decimal) {
      if (fraction || (grouped && digits != 3)) {
        return std::nullopt;
      }
      fraction = true;
      number += '.';
      continue;
    }
    if ((c == 'e' || c == 'E') && grouped && !fraction && digits != 3) {
      return std::nullopt;
    }
    digits += digit(c) && !fraction ? 1 : 0;
    number += c;
  }
  if (grouped && !fraction && digits != 3) {
    return std::nullopt;
  }
  double value = 0;
  const char* begin = number.data() + (number.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, number.data() + number.size(), value);
  return error == std::errc{} && end == number.data() + number.size() ? std::optional(value) : std::nullopt;
}

}  // namespace kvet::importing
