// Rows of a CSV text (RFC 4180): fields in quotes may hold separators, quotes written twice, and line ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kvet::importing {

class CsvRows {
 public:
  explicit CsvRows(std::string_view text, char separator = ',') : rest_(text), separator_(separator) {}

  enum class Step : unsigned char { row, end, open_quote, too_many_fields };
  // The next row into fields(). open_quote: the text ends inside quotes, which began in line().
  Step next();
  // The line that comes next, without taking it apart; "" at the end.
  [[nodiscard]] std::string_view peek() const;
  // Leaves the next line out.
  void skip_line();

  [[nodiscard]] const std::vector<std::string>& fields() const { return fields_; }
  [[nodiscard]] size_t line() const { return row_line_; }       // in which the last row began, from 1
  [[nodiscard]] size_t next_line() const { return next_line_; }  // in which the next row begins
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  // Raw pages of full sets have about 2,000 columns.
  static constexpr size_t most_fields = 20'000;

 private:
  std::string_view rest_;
  char separator_;
  size_t row_line_ = 0, next_line_ = 1;
  std::vector<std::string> fields_;
};

}  // namespace kvet::importing
