// Numbers as a locale writes them: 4,963,609,951.19 and 4.963.609.951,19 are one number.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvet::importing {

// Which of '.' and ',' begins the decimals. A text of one separator and three digits behind it ("1,024") does not say; the others of
// the same file do.
class DecimalMark {
 public:
  // Takes a cell as evidence, if it is a number. `line` is for messages.
  void see(std::string_view text, size_t line);
  // The mark: what was seen; '.' where nothing was. Bad_input where the file has both.
  [[nodiscard]] Result<char> decide(const std::string& path) const;

 private:
  size_t point_line_ = 0, comma_line_ = 0;  // 0: never seen
};

// The number that `text` is, with `decimal` as its mark; the other of '.' and ',' separates thousands, and so do spaces (no-break ones
// too), "'" and "’". Groups must have three digits (of two, as in India, none). Exponents as in 1.5e+03. Empty: not such a number.
[[nodiscard]] std::optional<double> locale_number(std::string_view text, char decimal);

}  // namespace kvet::importing
