// The rows of Nsight Compute's CSV, whichever page it is, as (metric, unit, value).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/csv_rows.h"

namespace kvet::importing {

class NcuTable {
 public:
  NcuTable(std::string_view text, const std::string& path);

  // To the next row of values; false: the end. Reads headings and the row of units on the way.
  Result<bool> next();

  enum class Column : uint8_t { id, process, kernel, grid, block, device, cc, metric, unit, value };
  // A cell of this row; "" where there is no such column or the row ends before it.
  [[nodiscard]] std::string_view cell(Column column) const;

  // Calls take(metric, unit, value) for each value of this row until one is an error.
  template <class Take>
  Result<void> for_each_value(Take take) const {
    if (has(Column::metric)) {
      return cell(Column::metric).empty() ? Result<void>{}
                                          : take(cell(Column::metric), cell(Column::unit), cell(Column::value));
    }
    for (size_t i = first_metric_; i < std::min(rows_.fields().size(), heading_.size()); ++i) {
      if (Result<void> taken =
              take(heading_[i], i < units_.size() ? std::string_view(units_[i]) : "", rows_.fields()[i]);
          !taken) {
        return taken;
      }
    }
    return {};
  }

  [[nodiscard]] size_t line() const { return rows_.line(); }
  [[nodiscard]] uint64_t part() const { return part_; }  // counts headings: files may stand behind one another
  [[nodiscard]] uint64_t skipped_lines() const { return skipped_; }

 private:
  static constexpr size_t columns = static_cast<size_t>(Column::value) + 1;
  [[nodiscard]] bool has(Column column) const { return places_[static_cast<size_t>(column)].has_value(); }
  Result<bool> read_heading();

  std::string path_;
  CsvRows rows_;
  char separator_ = ',';
  bool quoted_ = false;  // the headings stand in quotes, so every row does
  std::vector<std::string> heading_, units_;
  std::array<std::optional<size_t>, columns> places_{};
  size_t first_metric_ = 0;  // of a raw page
  uint64_t part_ = 0, skipped_ = 0;
};

}  // namespace kvet::importing
