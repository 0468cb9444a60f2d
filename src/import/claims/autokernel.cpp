// AutoKernel: results.tsv, a row per experiment. https://github.com/RightNow-AI/autokernel (README, "Results Format"). latency_us is
// microseconds; speedup_vs_pytorch is PyTorch's time ÷ the kernel's.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/quantity.h"
#include "base/text.h"
#include "import/claims/result_file.h"

namespace kvet::importing::formats {
namespace {

constexpr size_t most_columns = 100;
constexpr double us = 1e3;  // ns

struct Columns {
  size_t experiment, tag, latency, speedup, correctness, count;
};

std::string_view first_line(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

Columns columns_of(const std::vector<std::string_view>& header) {
  auto find = [&](std::string_view name) {
    return static_cast<size_t>(std::ranges::find(header, name, [](std::string_view one) { return trimmed(one); }) -
                               header.begin());
  };
  return {find("experiment"),         find("tag"),         find("latency_us"),
          find("speedup_vs_pytorch"), find("correctness"), header.size()};
}

void take_latency(ResultRow& row, std::string_view text) {
  double value = 0;
  text = trimmed(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) {
    take_positive(row, value, "latency_us", us, row.candidate_ns);
  } else {
    note_problem(row, fmt::format("latency_us is '{}', not a number", text.substr(0, 40)));
  }
}

// As on the command line: "1.38" or "1.38x", never "38%".
void take_speedup(ResultRow& row, std::string_view text) {
  if (auto value = parse_claim(text.substr(0, 60))) {
    row.ratio = *value;
  } else {
    note_problem(row, fmt::format("speedup_vs_pytorch: {}", value.error().what));
  }
}

}  // namespace

bool is_autokernel(std::string_view text) {
  const std::string_view line = first_line(text);
  if (std::count(line.begin(), line.end(), '\t') >= static_cast<ptrdiff_t>(most_columns)) {
    return false;
  }
  const Columns columns = columns_of(split(line, '\t'));
  return columns.experiment < columns.count && (columns.latency < columns.count || columns.speedup < columns.count);
}

Result<void> add_autokernel(std::string_view text, ResultFile& into) {
  const Columns columns = columns_of(split(first_line(text), '\t'));
  size_t line = 0;
  while (!text.empty()) {
    const std::string_view whole = first_line(text);
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    if (++line == 1 || trimmed(whole).empty()) {
      continue;
    }
    const auto count = static_cast<size_t>(std::count(whole.begin(), whole.end(), '\t')) + 1;
    if (count != columns.count) {
      return fail(ErrorKind::bad_input, fmt::format("has {} columns, the header has {}", count, columns.count),
                  fmt::format("{}:{}", into.path, line), text.empty() ? "the file may be cut short" : "");
    }
    const std::vector<std::string_view> cells = split(whole, '\t');
    ResultRow row;
    row.id = trimmed(cells[columns.experiment]);
    row.where = fmt::format("line {}", line);
    if (columns.tag < count) {
      row.aliases = {std::string(trimmed(cells[columns.tag]))};
    }
    if (columns.correctness < count && trimmed(cells[columns.correctness]) != "PASS") {
      note_problem(row,
                   fmt::format("its correctness is '{}', not PASS", trimmed(cells[columns.correctness]).substr(0, 40)));
    }
    if (columns.latency < count) {
      take_latency(row, cells[columns.latency]);
    }
    if (columns.speedup < count && !trimmed(cells[columns.speedup]).empty()) {
      take_speedup(row, cells[columns.speedup]);
    }
    if (row.ratio && row.candidate_ns) {
      row.baseline_ns = *row.ratio * *row.candidate_ns;
    }
    if (auto added = add_row(into, std::move(row)); !added) {
      return added;
    }
  }
  return {};
}

}  // namespace kvet::importing::formats
