// Text from captures, made fit for a terminal: it cannot move the cursor, colour the screen, reverse the reading
// direction or break a table.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvet {

// Columns that well-formed UTF-8 takes on a terminal: East Asian wide characters and emoji two, combining marks none.
// A simple table (Unicode 15, East_Asian_Width W and F, and general category Mn in the ranges in common use), not a full
// implementation: good enough to keep tables straight.
[[nodiscard]] size_t display_width(std::string_view text);

// At most max_columns columns; what is longer ends with "…". Control characters and direction marks are spelled out
// (\x1b, \u202e), newline and tab as \n and \t, bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string safe_text(std::string_view raw, size_t max_columns = 4096);

// The text as it is, but with U+FFFD in place of each byte that is no part of well-formed UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view raw);

// JSON text with the characters that safe_text spells out as \u escapes: the same JSON, but harmless on a terminal. (Those below
// U+0020 must be escaped inside strings already.)
[[nodiscard]] std::string json_without_unseen(std::string json);

// safe_text, but what is left out is taken from the middle.
[[nodiscard]] std::string safe_text_middle(std::string_view raw, size_t max_columns);

// `text` (already safe) with spaces behind or before it up to `columns`. Longer text comes back unchanged.
[[nodiscard]] std::string pad_right(std::string_view text, size_t columns);
[[nodiscard]] std::string pad_left(std::string_view text, size_t columns);

}  // namespace kvet
