#include "report/rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <set>

#include "base/safe_text.h"
#include "report/json.h"

namespace kvet::report {
namespace {

using Write = std::function<void(std::string_view)>;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return out;
}

// The shortest decimal that reads back as the same double; it always looks like a real.
std::string exact(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string infinity(double value) { return value < 0 ? "-Infinity" : "Infinity"; }

class CsvWriter final : public RowWriter {
 public:
  CsvWriter(const std::vector<std::string>& columns, Write write, bool terminal)
      : write_(std::move(write)), terminal_(terminal) {
    std::string line;
    for (const std::string& column : columns) {
      line += (line.empty() ? "" : ",") + quoted(column);
    }
    write_(line + "\n");
  }
  void row(const std::vector<Cell>& cells) override {
    line_.clear();
    for (size_t i = 0; i < cells.size(); ++i) {
      line_ += i == 0 ? "" : ",";
      line_ += std::visit(
          Overloaded{[](std::monostate) { return std::string{}; }, [](int64_t value) { return std::to_string(value); },
                     [](double value) { return std::isinf(value) ? infinity(value) : exact(value); },
                     [&](std::string_view text) { return quoted(text); },
                     [](Blob blob) { return "x'" + hex(blob.bytes) + "'"; }},
          cells[i]);
    }
    line_ += '\n';
    write_(line_);
  }
  void end() override {}

 private:
  [[nodiscard]] std::string quoted(std::string_view text) const {
    std::string out = "\"";
    for (const char c : terminal_ ? safe_text(text, text.size() * 8) : valid_utf8(text)) {
      out += c == '"' ? "\"\"" : std::string(1, c);
    }
    return out + '"';
  }

  Write write_;
  bool terminal_;
  std::string line_;
};

class JsonWriter final : public RowWriter {
 public:
  JsonWriter(const std::vector<std::string>& columns, Write write, bool lines)
      : write_(std::move(write)), lines_(lines) {
    std::set<std::string> taken;
    for (const std::string& column : columns) {
      std::string name = valid_utf8(column);
      for (int number = 2; !taken.insert(name).second; ++number) {
        name = valid_utf8(column) + "_" + std::to_string(number);
      }
      keys_.push_back(Json(name).dump());
    }
    write_(lines_ ? "" : "[");
  }
  void row(const std::vector<Cell>& cells) override {
    line_ = lines_ ? "{" : first_ ? "\n{" : ",\n{";
    first_ = false;
    for (size_t i = 0; i < cells.size(); ++i) {
      line_ += i == 0 ? "" : ", ";
      line_ += keys_[i];
      line_ += ": ";
      line_ += std::visit(
          Overloaded{[](std::monostate) { return std::string("null"); },
                     [](int64_t value) { return std::to_string(value); },
                     [](double value) { return std::isinf(value) ? '"' + infinity(value) + '"' : exact(value); },
                     [](std::string_view text) { return Json(text).dump(); },
                     [](Blob blob) { return "{\"hex\": \"" + hex(blob.bytes) + "\"}"; }},
          cells[i]);
    }
    line_ += lines_ ? "}\n" : "}";
    write_(line_);
  }
  void end() override { write_(lines_ ? "" : first_ ? "]\n" : "\n]\n"); }

 private:
  Write write_;
  bool lines_, first_ = true;
  std::vector<std::string> keys_;
  std::string line_;
};

// Columns side by side. The first rows wait until they have said how wide the columns are.
class TableWriter final : public RowWriter {
 public:
  TableWriter(const std::vector<std::string>& columns, Write write) : write_(std::move(write)) {
    for (const std::string& column : columns) {
      head_.push_back({safe_text(column, longest_cell), false});
    }
  }
  void row(const std::vector<Cell>& cells) override {
    Row row;
    for (const Cell& cell : cells) {
      row.push_back(shown(cell));
    }
    if (begun_) {
      line(row);
      return;
    }
    waiting_.push_back(std::move(row));
    if (waiting_.size() == rows_that_wait) {
      begin();
    }
  }
  void end() override {
    if (!begun_) {
      begin();
    }
  }

 private:
  struct Shown {
    std::string text;
    bool number = false;
  };
  using Row = std::vector<Shown>;
  static constexpr size_t longest_cell = 100, rows_that_wait = 500;

  static Shown shown(const Cell& cell) {
    return std::visit(
        Overloaded{[](std::monostate) { return Shown{"NULL", false}; },
                   [](int64_t value) { return Shown{std::to_string(value), true}; },
                   [](double value) {
                     return Shown{std::isinf(value) ? infinity(value) : fmt::format("{:.6g}", value), true};
                   },
                   [](std::string_view text) { return Shown{safe_text_middle(text, longest_cell), false}; },
                   [](Blob blob) {
                     return Shown{safe_text("x'" + hex(blob.bytes.substr(0, longest_cell)) + "'", longest_cell)};
                   }},
        cell);
  }
  void begin() {
    begun_ = true;
    for (size_t i = 0; i < head_.size(); ++i) {
      widths_.push_back(display_width(head_[i].text));
      for (const Row& row : waiting_) {
        widths_[i] = std::max(widths_[i], display_width(row[i].text));
      }
      // A column's title stands where its values stand.
      head_[i].number = std::ranges::any_of(waiting_, [&](const Row& row) { return row[i].number; });
    }
    line(head_);
    Row rule;
    for (const size_t width : widths_) {
      rule.push_back({std::string(width, '-'), false});
    }
    line(rule);
    for (const Row& row : waiting_) {
      line(row);
    }
    waiting_.clear();
  }
  void line(const Row& row) {
    std::string text;
    for (size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "" : "  ";
      text += row[i].number ? pad_left(row[i].text, widths_[i]) : pad_right(row[i].text, widths_[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    write_(text + "\n");
  }

  Write write_;
  Row head_;
  std::deque<Row> waiting_;
  std::vector<size_t> widths_;
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<RowWriter> make_row_writer(RowFormat format, const std::vector<std::string>& columns,
                                           std::function<void(std::string_view)> write, bool terminal) {
  switch (format) {
    case RowFormat::csv: return std::make_unique<CsvWriter>(columns, std::move(write), terminal);
    case RowFormat::json: return std::make_unique<JsonWriter>(columns, std::move(write), false);
    case RowFormat::jsonl: return std::make_unique<JsonWriter>(columns, std::move(write), true);
    case RowFormat::table: break;
  }
  return std::make_unique<TableWriter>(columns, std::move(write));
}

}  // namespace kvet::report
