#include "base/safe_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace kvet {
namespace {

constexpr char32_t invalid = 0xffffffff;

// Takes one character off the front of `text`. A byte that begins no well-formed sequence (RFC 3629) gives `invalid`.
char32_t take(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  size_t length = 1;
  char32_t point = first;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
    point = first & 0x1fu;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    point = first & 0x0fu;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    point = first & 0x07u;
  } else if (first >= 0x80) {
    point = invalid;
  }
  if (length > text.size()) {
    text.remove_prefix(1);
    return invalid;
  }
  for (size_t index = 1; index < length; ++index) {
    const auto next = static_cast<unsigned char>(text[index]);
    if ((next & 0xc0u) != 0x80) {
      text.remove_prefix(1);
      return invalid;
    }
    point = (point << 6) | (next & 0x3fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (length > 1 && (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))) {
    text.remove_prefix(1);
    return invalid;
  }
  text.remove_prefix(length);
  return point;
}

struct Range {
  char32_t first, last;
};
constexpr Range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x2705, 0x2705},
    {0x270a, 0x270b},   {0x2728, 0x2728},   {0x274c, 0x274c},   {0x2753, 0x2755},   {0x2795, 0x2797},
    {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2e80, 0x303e},   {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
    {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},
    {0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18aff}, {0x1aff0, 0x1b2ff}, {0x1f004, 0x1f004},
    {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};
constexpr Range combining[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
    {0x20d0, 0x20ff}, {0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef},
};
// What has no shape of its own but changes how the rest is shown: C0, DEL, C1, zero-width and direction marks
// (CVE-2021-42574 shows what the latter are good for), line and paragraph separators, byte order mark, tags.
constexpr Range unseen[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x061c, 0x061c}, {0x180e, 0x180e},   {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

template <size_t n>
bool is_in(const Range (&table)[n], char32_t point) {
  const auto after = std::upper_bound(std::begin(table), std::end(table), point,
                                      [](char32_t value, const Range& range) { return value < range.first; });
  return after != std::begin(table) && point <= std::prev(after)->last;
}

size_t width_of(char32_t point) { return is_in(combining, point) ? 0 : is_in(wide, point) ? 2 : 1; }

// One character, as it may be shown, and its width.
struct Shown {
  std::string text;
  size_t columns = 0;
};
Shown take_shown(std::string_view& text) {
  const std::string_view before = text;
  const char32_t point = take(text);
  if (point == invalid) {
    return {"\ufffd", 1};
  }
  std::string spelled;
  if (point == '\n' || point == '\t') {
    spelled = point == '\n' ? "\\n" : "\\t";
  } else if (is_in(unseen, point)) {
    const auto number = static_cast<uint32_t>(point);
    spelled = number < 0x80 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
  }
  if (!spelled.empty()) {
    return {spelled, spelled.size()};
  }
  return {std::string(before.substr(0, before.size() - text.size())), width_of(point)};
}

// A combining mark takes no column, so columns alone do not bound the length: nobody stacks more than a few of them.
constexpr size_t bytes_per_column = 16;

// Printable ASCII, as most names are: nothing to spell out, and a column for each byte.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char letter) { return letter >= ' ' && letter <= '~'; });
}

}  // namespace

size_t display_width(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const char32_t point = take(text);
    columns += point == invalid ? 1 : width_of(point);
  }
  return columns;
}

std::string safe_text(std::string_view raw, size_t max_columns) {
  if (raw.size() <= max_columns && is_plain(raw)) {
    return std::string{raw};
  }
  std::string out;
  size_t columns = 0;
  size_t cut_at = 0;  // how much of `out` leaves room for "…"
  while (!raw.empty()) {
    const Shown next = take_shown(raw);
    if (columns + next.columns > max_columns || out.size() > (max_columns + 1) * bytes_per_column) {
      out.resize(cut_at);
      return max_columns == 0 ? std::string{} : out + "…";
    }
    columns += next.columns;
    out += next.text;
    if (columns + 1 <= max_columns) {
      cut_at = out.size();
    }
  }
  return out;
}

std::string valid_utf8(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  while (!raw.empty()) {
    const std::string_view before = raw;
    out += take(raw) == invalid ? std::string_view("\ufffd") : before.substr(0, before.size() - raw.size());
  }
  return out;
}

std::string json_without_unseen(std::string json) {
  if (std::ranges::all_of(json, [](char c) { return static_cast<unsigned char>(c) < 0x7f; })) {
    return json;
  }
  std::string out;
  out.reserve(json.size());
  for (std::string_view rest = json; !rest.empty();) {
    const std::string_view before = rest;
    const char32_t point = take(rest);
    if (point < 0x7f || point == invalid || !is_in(unseen, point)) {
      out += before.substr(0, before.size() - rest.size());
    } else if (const auto number = static_cast<uint32_t>(point); number < 0x10000) {
      out += fmt::format("\\u{:04x}", number);
    } else {  // RFC 8259, section 7
      out +=
          fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((number - 0x10000) >> 10), 0xdc00 + ((number - 0x10000) & 0x3ff));
    }
  }
  return out;
}

std::string safe_text_middle(std::string_view raw, size_t max_columns) {
  if (raw.size() <= max_columns && is_plain(raw)) {
    return std::string{raw};
  }
  // More than any place shows, and a bound on the work.
  constexpr size_t longest = 16 * 1024;
  std::string shorter;
  if (raw.size() > 2 * longest) {
    shorter = std::string(raw.substr(0, longest)).append(raw.substr(raw.size() - longest));
    raw = shorter;
  }
  const std::string all = safe_text(raw, raw.size() * 8);
  if (display_width(all) <= max_columns || max_columns < 5) {
    return safe_text(all, max_columns);
  }
  const size_t behind = (max_columns - 1) / 2;
  const size_t before = max_columns - 1 - behind;
  std::string_view tail = all;
  for (size_t left = display_width(all); left > behind;) {
    const char32_t point = take(tail);
    left -= point == invalid ? 1 : width_of(point);
  }
  std::string head = safe_text(all, before + 1);  // ends with "…", which is what stands in the middle
  return head.append(tail);
}

std::string pad_right(std::string_view text, size_t columns) {
  const size_t width = display_width(text);
  return std::string(text) + std::string(columns > width ? columns - width : 0, ' ');
}

std::string pad_left(std::string_view text, size_t columns) {
  const size_t width = display_width(text);
  return std::string(columns > width ? columns - width : 0, ' ') + std::string(text);
}

}  // namespace kvet
