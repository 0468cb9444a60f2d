// Small operations on text that comes from outside.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kvet {

// The text with control characters, marks of direction, and bytes that are not UTF-8, written as \xNN: kernel names, paths and the words of
// other programs cannot move the cursor, colour the screen or fake a line of ours.
[[nodiscard]] std::string printable(std::string_view text);

[[nodiscard]] std::string_view trimmed(std::string_view text);

// The parts between separators, empty ones kept: "a,,b" gives three.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

// How many characters must be inserted, removed or replaced to get from one to the other (Levenshtein 1966).
[[nodiscard]] size_t edit_distance(std::string_view from, std::string_view to);

// The choice that was most probably meant, or "" when none is near.
[[nodiscard]] std::string_view nearest(std::string_view word, const std::vector<std::string_view>& choices);

}  // namespace kvet
