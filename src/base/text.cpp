#include "base/text.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace kvet {

namespace {

// Length of the well-formed UTF-8 sequence at the front (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF);
// 0 where there is none.
size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char first = byte(0);
  size_t length = 0;
  uint32_t point = 0;
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
    point = first & 0x1fU;
  } else if ((first & 0xf0U) == 0xe0) {
    length = 3;
    point = first & 0x0fU;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    point = first & 0x07U;
  } else {
    return 0;
  }
  if (text.size() < length) {
    return 0;
  }
  for (size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xc0U) != 0x80) {
      return 0;
    }
    point = (point << 6U) | (byte(index) & 0x3fU);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  // U+0080 to U+009F are the C1 control characters: a terminal may take them for the start of an escape sequence. Marks
  // of direction and separators of lines have no shape of their own and change how the rest is shown (CVE-2021-42574).
  const bool control = (point >= 0x80 && point <= 0x9f) || (point >= 0x200b && point <= 0x200f) ||
                       (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
  return overlong || surrogate || control || point > 0x10ffff ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const size_t length = first < 0x20 || first == 0x7f ? 0 : utf8_length(text);
    if (length == 0) {
      out += "\\x";
      out += digits[first >> 4U];
      out += digits[first & 0xfU];
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  static constexpr std::string_view space = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& choices) {
  std::string_view best;
  size_t best_distance = 3;  // two slips of the finger; more is another word
  for (std::string_view choice : choices) {
    const size_t distance = edit_distance(word, choice);
    if (distance < best_distance && distance < choice.size()) {
      best = choice;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace kvet
