#include "export/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <unordered_map>

#include "base/output_file.h"
#include "base/safe_text.h"
#include "store/enumerations.h"
#include "store/schema.h"

namespace kvet::exporting {
namespace {

constexpr size_t text_columns = 4096;
// U+FF1D, U+FF0B, U+FF0D and U+FF20 count for some spreadsheets as the ASCII ones do.
constexpr std::array<std::string_view, 8> formula_marks{"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"};

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

// The line of one row, or of the names of its columns: the same visits give both, so that they cannot disagree.
class Line {
 public:
  explicit Line(bool names) : names_(names) {}

  void cell(std::string_view name, std::string_view value) {
    line_.append(line_.empty() && first_ ? "" : ",").append(names_ ? name : value);
    first_ = false;
  }
  std::string_view finish() {
    line_ += "\r\n";
    return line_;
  }
  void clear() {
    line_.clear();
    first_ = true;
  }

 private:
  bool names_, first_ = true;
  std::string line_;
};

// Names are few and rows are many: each text is made safe once.
class TextCells {
 public:
  explicit TextCells(const Capture& capture) : capture_(capture) {}
  const std::string& of(StringId id) {
    const auto [found, is_new] = cells_.try_emplace(id);
    if (is_new) {
      found->second = csv_text(capture_.text(id));
    }
    return found->second;
  }

 private:
  const Capture& capture_;
  std::unordered_map<StringId, std::string> cells_;
};

class Cells {
 public:
  Cells(TextCells& texts, bool names) : texts_(texts), line_(names) {}
  Line& line() { return line_; }

  template <class T>
  void reference(std::string_view name, const T& id, std::string_view, std::string_view) {
    if constexpr (is_optional<T>) {
      line_.cell(name, id ? fmt::format("{}", id->value) : "");
    } else if constexpr (std::is_same_v<T, StringId>) {
      line_.cell(name.substr(0, name.size() - std::string_view("_id").size()), texts_.of(id));
    } else {
      line_.cell(name, fmt::format("{}", id.value));
    }
  }
  template <class T>
  void integer(std::string_view name, const T& field, std::string_view) {
    number(name, field);
  }
  void bits(std::string_view name, uint64_t field, std::string_view) { line_.cell(name, fmt::format("{:#x}", field)); }
  template <class T>
  void real(std::string_view name, const T& field, std::string_view) {
    number(name, field);
  }
  void signed_real(std::string_view name, double field, std::string_view) { number(name, field); }
  void boolean(std::string_view name, bool field, std::string_view) { line_.cell(name, field ? "1" : "0"); }
  void text(std::string_view name, const std::string& field, std::string_view) { line_.cell(name, csv_text(field)); }
  template <class E>
  void enumeration(std::string_view name, E field, std::string_view) {
    line_.cell(name, store::enumerator(field));
  }
  void identifier(std::string_view name, const std::array<uint8_t, 16>& field, std::string_view) {
    std::string hexadecimal;
    for (const uint8_t byte : field) {
      hexadecimal += fmt::format("{:02x}", byte);
    }
    line_.cell(name, hexadecimal);
  }
  template <class T>
  void time(std::string_view name, const T& field, std::string_view) {
    number(name, field);
  }
  void interval(int64_t start, int64_t end, std::string_view) {
    number("start_ns", start);
    number("duration_ns", end - start);
  }
  void within(std::string_view name, int64_t start, int64_t, int64_t point, std::string_view) {
    number(name, point - start);
  }
  void triple(std::string_view name, const std::array<uint32_t, 3>& field, std::string_view) {
    for (size_t axis = 0; axis < 3; ++axis) {
      number(fmt::format("{}_{}", name, "xyz"[axis]), field[axis]);
    }
  }

 private:
  template <class T>
  void number(std::string_view name, const T& value) {
    if constexpr (is_optional<T>) {
      line_.cell(name, value ? fmt::format("{}", *value) : "");
    } else {
      line_.cell(name, fmt::format("{}", value));
    }
  }
  TextCells& texts_;
  Line line_;
};

// Calls action(row) for each row of a table.
template <class Row, class Action>
void for_each_row(const Capture& capture, Action action) {
  const auto all = [&](const auto& rows) { std::for_each(rows.begin(), rows.end(), action); };
  if constexpr (std::is_same_v<Row, Meta>) {
    for (const auto& [key, value] : capture.meta) {
      action(Meta{key, value});
    }
    if (capture.complete) {  // the reader keeps that row as a flag
      action(Meta{"complete", "1"});
    }
  } else if constexpr (std::is_same_v<Row, Process>) {
    all(capture.processes);
  } else if constexpr (std::is_same_v<Row, Device>) {
    all(capture.devices);
  } else if constexpr (std::is_same_v<Row, KernelShape>) {
    all(capture.shapes);
  } else if constexpr (std::is_same_v<Row, Context>) {
    all(capture.contexts);
  } else if constexpr (std::is_same_v<Row, ApiCall>) {
    all(capture.api_calls);
  } else if constexpr (std::is_same_v<Row, Execution>) {
    all(capture.executions);
  } else if constexpr (std::is_same_v<Row, Transfer>) {
    all(capture.transfers);
  } else if constexpr (std::is_same_v<Row, Range>) {
    all(capture.ranges);
  } else if constexpr (std::is_same_v<Row, OffCpu>) {
    all(capture.off_cpu);
  } else if constexpr (std::is_same_v<Row, CollectiveCall>) {
    all(capture.collective_calls);
  } else if constexpr (std::is_same_v<Row, Communicator>) {
    all(capture.communicators);
  } else if constexpr (std::is_same_v<Row, Sample>) {
    all(capture.samples);
  } else if constexpr (std::is_same_v<Row, DeviceReading>) {
    all(capture.device_readings);
  } else if constexpr (std::is_same_v<Row, Loss>) {
    all(capture.losses);
  } else {
    static_assert(std::is_same_v<Row, ClockMapping>, "a table without rows here");
    all(capture.clock_mappings);
  }
}

template <class Row>
Result<void> write_table(const Capture& capture, TextCells& texts, const std::string& folder) {
  auto output = OutputFile::create(fmt::format("{}/{}.csv", folder, store::table_text<Row>.name));
  if (!output) {
    return std::unexpected(output.error());
  }
  Cells names(texts, true), values(texts, false);
  const Row nothing{};
  store::describe(names, nothing);
  output->write(names.line().finish());
  for_each_row<Row>(capture, [&](const Row& row) {
    values.line().clear();
    store::describe(values, row);
    output->write(values.line().finish());
  });
  return output->finish();
}

std::string number(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

void write_finding(OutputFile& output, const Finding& finding, const std::string& kernel) {
  const auto bound = [&](double Interval::* which) {
    return finding.interval ? number((*finding.interval).*which) : std::string{};
  };
  output.write(fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n", csv_text(kernel), csv_text(finding.id),
                           name(finding.question), csv_text(finding.subject), csv_text(finding.beside),
                           number(finding.value), csv_text(finding.unit), bound(&Interval::low), bound(&Interval::high),
                           finding.observations, name(finding.evidence), csv_text(finding.sentence),
                           csv_text(finding.reason), csv_text(finding.advice)));
}

}  // namespace

std::string csv_text(std::string_view raw) {
  std::string text = safe_text(raw, text_columns);
  const std::string_view behind_blanks =
      std::string_view(text).substr(std::min(text.find_first_not_of(' '), text.size()));
  if (std::any_of(formula_marks.begin(), formula_marks.end(),
                  [&](std::string_view mark) { return behind_blanks.starts_with(mark); })) {
    text.insert(0, 1, '\'');
  }
  const bool spaces = text.starts_with(' ') || text.ends_with(' ');
  if (!spaces && text.find_first_of(",;\"") == std::string::npos) {  // some spreadsheets separate at ;
    return text;
  }
  std::string quoted = "\"";
  for (const char letter : text) {
    quoted.append(letter == '"' ? 2 : 1, letter);
  }
  return quoted + '"';
}

Result<void> write_capture_tables(const Capture& capture, const std::string& folder) {
  TextCells texts(capture);
  Result<void> done;
  store::for_each_table([&]<class Row>() {
    if constexpr (!std::is_same_v<Row, store::StringRow>) {  // its texts stand where they are used
      if (done) {
        done = write_table<Row>(capture, texts, folder);
      }
    }
  });
  return done;
}

Result<void> write_findings_table(const MetricsSource& source, const std::string& folder) {
  auto output = OutputFile::create(folder + "/findings.csv");
  if (!output) {
    return std::unexpected(output.error());
  }
  output->write(
      "kernel,id,question,subject,beside,value,unit,interval_low,interval_high,observations,evidence,sentence,reason,"
      "advice\r\n");
  for (const Finding& finding : source.findings) {
    write_finding(*output, finding, "");
  }
  for (const KernelFindings& kernel : source.kernels) {
    for (const Finding& finding : kernel.findings) {
      write_finding(*output, finding, source.label(kernel.name));
    }
  }
  return output->finish();
}

}  // namespace kvet::exporting
