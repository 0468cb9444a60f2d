#include "import/claims/result_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace kvet::importing {

namespace formats {

void note_problem(ResultRow& row, std::string problem) {
  if (row.problem.empty()) {
    row.problem = std::move(problem);
  }
}

std::string described(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::null: return "null";
    case JsonValue::Kind::boolean: return value.truth ? "true" : "false";
    case JsonValue::Kind::number: return fmt::format("{}", value.number);
    case JsonValue::Kind::text: return fmt::format("the text \"{}\"", value.text.substr(0, 40));
    case JsonValue::Kind::array: return "a list";
    case JsonValue::Kind::object: return "an object";
  }
  return "?";
}

void take_positive(ResultRow& row, double value, std::string_view what, double factor, std::optional<double>& into) {
  if (std::isfinite(value) && value > 0 && std::isfinite(value * factor) && value * factor > 0) {
    into = value * factor;
  } else {
    note_problem(row, std::isfinite(value) && value > 0
                          ? fmt::format("{} is {}, which is out of range as a time", what, value)
                          : fmt::format("{} is {}, not a number above 0", what, value));
  }
}

Result<void> add_row(ResultFile& into, ResultRow row) {
  if (into.rows.size() >= most_rows) {
    return fail(ErrorKind::bad_input, fmt::format("holds more than {} results", most_rows), into.path,
                "cut out the result that is meant");
  }
  into.rows.push_back(std::move(row));
  return {};
}

}  // namespace formats

namespace {

std::unexpected<Error> unknown_format(const std::string& path) {
  return fail(ErrorKind::bad_input, "is no result file that kvet knows", path,
              "docs/claims.md lists them: KernelBench, FlashInfer-Bench traces, AutoKernel, nvbench, Google Benchmark");
}

Result<void> add_json(const JsonValue& root, size_t line, bool alone, ResultFile& file) {
  struct Format {
    const char* name;
    bool (*is)(const JsonValue&);
    Result<void> (*add)(const JsonValue&, ResultFile&);
  };
  constexpr Format formats[] = {{"nvbench", formats::is_nvbench, formats::add_nvbench},
                                {"Google Benchmark", formats::is_google_benchmark, formats::add_google_benchmark},
                                {"KernelBench", formats::is_kernelbench, formats::add_kernelbench}};
  if (formats::is_trace(root)) {
    file.format = "FlashInfer-Bench trace";
    return formats::add_trace(root, line, file);
  }
  for (const Format& format : formats) {
    if (alone && format.is(root)) {
      file.format = format.name;
      return format.add(root, file);
    }
  }
  if (!alone && *file.format != '\0') {
    return fail(ErrorKind::bad_input, "is not a trace, as the lines before are", fmt::format("{}:{}", file.path, line));
  }
  return unknown_format(file.path);
}

// One JSON text, or one after another.
Result<void> add_json_texts(std::string_view text, ResultFile& file) {
  const std::string_view whole = text;
  size_t line = 1;
  bool alone = true;
  for (bool first = true;; first = false) {
    const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    line += static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(begin), '\n'));
    text.remove_prefix(begin);
    if (text.empty()) {
      return {};
    }
    if (!first && text.front() != '{' && text.front() != '[') {
      const size_t at = static_cast<size_t>(text.data() - whole.data());
      const size_t line_begin = whole.substr(0, at).rfind('\n');
      return fail(ErrorKind::bad_input,
                  fmt::format("goes on behind the end of its JSON, at column {}",
                              at - (line_begin == std::string_view::npos ? 0 : line_begin + 1) + 1),
                  fmt::format("{}:{}", file.path, line), "Take out what follows, or copy the file again");
    }
    const std::string_view one = text.substr(0, first_json_text(text));
    const std::string_view rest = text.substr(one.size());
    const std::string_view next = trimmed(rest);
    alone = first && !next.starts_with('{') && !next.starts_with('[');
    auto root = parse_json(one, file.path, line);
    if (!root) {
      return std::unexpected(root.error());
    }
    if (auto added = add_json(*root, line, alone, file); !added) {
      return added;
    }
    line += static_cast<size_t>(std::count(one.begin(), one.end(), '\n'));
    text = rest;
  }
}

}  // namespace

Result<ResultFile> parse_results(std::string_view text, const std::string& path) {
  ResultFile file;
  file.path = path;
  if (text.starts_with("\xef\xbb\xbf")) {
    text.remove_prefix(3);  // a byte-order mark, as Windows' editors write one
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    return fail(ErrorKind::bad_input, "is UTF-16 text", path, "Convert it: iconv -f UTF-16 -t UTF-8 FILE");
  }
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) {
    return fail(ErrorKind::bad_input, "is empty", path);
  }
  Result<void> added;
  if (text[begin] == '{' || text[begin] == '[') {
    added = add_json_texts(text, file);
  } else if (formats::is_autokernel(text)) {
    file.format = "AutoKernel";
    added = formats::add_autokernel(text, file);
  } else {
    return unknown_format(path);
  }
  if (!added) {
    return std::unexpected(added.error());
  }
  return file;
}

}  // namespace kvet::importing
