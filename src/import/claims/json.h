// JSON of a benchmark's result file as plain values. Result files are small; what is not is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvet::importing {

struct JsonValue {
  enum class Kind : uint8_t { null, boolean, number, text, array, object };

  Kind kind = Kind::null;
  bool truth = false;
  double number = 0;
  std::string text;
  std::vector<JsonValue> elements;  // of an array; the values of an object's keys
  std::vector<std::string> keys;    // of an object

  // The member of an object, or a null where there is none. Linear in the number of members.
  [[nodiscard]] const JsonValue& operator[](std::string_view key) const;
  [[nodiscard]] bool is(Kind other) const { return kind == other; }
  [[nodiscard]] bool is_object() const { return kind == Kind::object; }
  [[nodiscard]] bool is_array() const { return kind == Kind::array; }
  [[nodiscard]] bool is_number() const { return kind == Kind::number; }
  [[nodiscard]] std::string_view string() const {
    return kind == Kind::text ? std::string_view(text) : std::string_view();
  }
};

// Values in one text, at most: 2 million of 104 bytes are 208 MB.
inline constexpr size_t most_json_values = 2'000'000;
inline constexpr size_t deepest_json = 64;

// One JSON text. `line` is the number of its first line in the file `path`. Errors are bad_input with line and column: not JSON,
// nested deeper than deepest_json, a key twice in one object, more than most_json_values values.
Result<JsonValue> parse_json(std::string_view text, const std::string& path, size_t line = 1);

// How many bytes of `text` the first JSON text in it takes, by its brackets alone (strings and escapes are respected);
// npos: its brackets never close. For files that hold one JSON text after another.
[[nodiscard]] size_t first_json_text(std::string_view text);

}  // namespace kvet::importing
