// A benchmark's result file as rows, whatever its format. One parser per format, each in a file of its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/claims/json.h"

namespace kvet::importing {

// One measured thing. Times are nanoseconds of one call.
struct ResultRow {
  std::string id;
  std::vector<std::string> aliases;  // shorter ids, good where only one row has them
  std::optional<double> baseline_ns, candidate_ns;  // a row of one time alone has it in candidate_ns
  std::optional<double> ratio;  // as the file states it: baseline time ÷ candidate time
  std::string device;
  std::string workload;  // rows of different workloads are not held against each other; "": any
  std::string where;     // "line 3", "benchmarks[0]"
  bool known_correct = true;  // see Claim
  std::string problem;   // why it cannot be a claim; "": it can
};

struct ResultFile {
  std::string path;
  const char* format = "";
  std::vector<ResultRow> rows;
};

inline constexpr size_t most_rows = 200'000;

// Errors are bad_input: none of the formats, or not well-formed; with the position.
Result<ResultFile> parse_results(std::string_view text, const std::string& path);

// The formats. Each is given a value that it recognised by its `is_…`; what is wrong with one row is that row's problem.
namespace formats {

[[nodiscard]] bool is_kernelbench(const JsonValue& root);
Result<void> add_kernelbench(const JsonValue& root, ResultFile& into);

[[nodiscard]] bool is_trace(const JsonValue& root);
Result<void> add_trace(const JsonValue& root, size_t line, ResultFile& into);

[[nodiscard]] bool is_nvbench(const JsonValue& root);
Result<void> add_nvbench(const JsonValue& root, ResultFile& into);

[[nodiscard]] bool is_google_benchmark(const JsonValue& root);
Result<void> add_google_benchmark(const JsonValue& root, ResultFile& into);

[[nodiscard]] bool is_autokernel(std::string_view text);
Result<void> add_autokernel(std::string_view text, ResultFile& into);

// Puts `value` × `factor` into `into`. What is no finite number above 0 becomes the row's problem, which names `what`; the first
// problem of a row stays.
void take_positive(ResultRow& row, double value, std::string_view what, double factor, std::optional<double>& into);
void note_problem(ResultRow& row, std::string problem);
[[nodiscard]] std::string described(const JsonValue& value);  // for messages: "null", "the text \"abc\"", "3"
Result<void> add_row(ResultFile& into, ResultRow row);  // bad_input where there are more than most_rows

}  // namespace formats

}  // namespace kvet::importing
