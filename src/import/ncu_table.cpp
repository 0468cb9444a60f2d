#include "import/ncu_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace kvet::importing {
namespace {

constexpr std::string_view names[] = {"ID",     "Process ID", "Kernel Name", "Grid Size",   "Block Size",
                                      "Device", "CC",         "Metric Name", "Metric Unit", "Metric Value"};
// Columns of a raw page that are no metrics.
constexpr std::string_view descriptive[] = {"Process Name", "Host Name", "Kernel Time",
                                            "Context",      "Stream",    "Section Name"};

// ncu writes commas; spreadsheets write semicolons and tabs again.
char separator_of(std::string_view heading) {
  for (char separator : {',', ';', '\t'}) {
    for (std::string_view field : split(heading, separator)) {
      field = trimmed(field);
      if (field == "ID" || field == "\"ID\"") {
        return separator;
      }
    }
  }
  return ',';
}

bool is_heading(std::string_view line) {
  line = trimmed(line);
  return (line.starts_with("\"ID\"") || line.starts_with("ID")) && line.find("Kernel Name") != std::string_view::npos;
}

}  // namespace

NcuTable::NcuTable(std::string_view text, const std::string& path) : path_(path), rows_(text) {
  CsvRows lines(text);
  while (!lines.at_end() && !is_heading(lines.peek())) {
    lines.skip_line();
  }
  separator_ = separator_of(lines.peek());
  rows_ = CsvRows(text, separator_);
}

std::string_view NcuTable::cell(Column column) const {
  const auto place = places_[static_cast<size_t>(column)];
  return place && *place < rows_.fields().size() ? std::string_view(rows_.fields()[*place]) : std::string_view();
}

Result<bool> NcuTable::read_heading() {
  quoted_ = trimmed(rows_.peek()).starts_with('"');
  if (rows_.next() != CsvRows::Step::row) {
    return fail(ErrorKind::bad_input, "its headings are cut short or too many",
                fmt::format("{}:{}", path_, rows_.line()));
  }
  ++part_;
  heading_ = rows_.fields();
  units_.clear();
  for (size_t i = 0; i < columns; ++i) {
    const auto at = std::ranges::find(heading_, names[i], [](const std::string& one) { return trimmed(one); });
    places_[i] = at == heading_.end() ? std::nullopt : std::optional(static_cast<size_t>(at - heading_.begin()));
  }
  if (!has(Column::id) || !has(Column::kernel) || (has(Column::metric) && !has(Column::value))) {
    return fail(ErrorKind::bad_input, "its headings lack ID, Kernel Name or Metric Value",
                fmt::format("{}:{}", path_, rows_.line()), "Write it without --print-summary");
  }
  first_metric_ = 0;
  for (size_t i = 0; i < heading_.size(); ++i) {
    const std::string_view one = trimmed(heading_[i]);
    if (std::ranges::find(names, one) != std::end(names) ||
        std::ranges::find(descriptive, one) != std::end(descriptive)) {
      first_metric_ = i + 1;
    }
  }
  return true;
}

Result<bool> NcuTable::next() {
  while (!rows_.at_end()) {
    const std::string_view line = trimmed(rows_.peek());
    if (is_heading(line)) {
      if (auto read = read_heading(); !read) {
        return read;
      }
      continue;
    }
    if (heading_.empty() || line.empty() || line.starts_with("==") || (quoted_ && !line.starts_with('"'))) {
      skipped_ += line.empty() ? 0 : 1;
      rows_.skip_line();
      continue;
    }
    const CsvRows::Step step = rows_.next();
    const std::string where = fmt::format("{}:{}", path_, rows_.line());
    if (step == CsvRows::Step::open_quote) {
      return fail(ErrorKind::bad_input, "a quote is never closed: the file may be cut short", where, "Copy it again");
    }
    const size_t count = rows_.fields().size();
    if (step == CsvRows::Step::too_many_fields || count > heading_.size()) {
      return fail(ErrorKind::bad_input, fmt::format("has more than the {} columns of the headings", heading_.size()),
                  where);
    }
    if (!has(Column::metric) && cell(Column::id).empty()) {  // of a raw page: the row of units
      units_ = rows_.fields();
      continue;
    }
    // The columns of rules, at the end, are left out where a row has none.
    const size_t needed = has(Column::metric) ? *places_[static_cast<size_t>(Column::value)] + 1 : heading_.size();
    const bool rule = has(Column::metric) && count >= *places_[static_cast<size_t>(Column::metric)] + 1 &&
                      cell(Column::metric).empty();
    if (count < needed && !rule) {
      return fail(
          ErrorKind::bad_input,
          fmt::format("has {} columns, the headings have {}: the file may be cut short", count, heading_.size()), where,
          "Copy it again");
    }
    return true;
  }
  if (heading_.empty()) {
    return fail(ErrorKind::bad_input, "has no row of headings with ID and Kernel Name: not Nsight Compute's CSV", path_,
                "Write it with `ncu --csv`, from a report: ncu --import FILE --csv --page raw");
  }
  return false;
}

}  // namespace kvet::importing
