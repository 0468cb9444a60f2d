// FlashInfer-Bench traces, and those of SOL-ExecBench, which has the same: one JSON object per line, of a definition, a workload, a
// solution and its evaluation. https://bench.flashinfer.ai (flashinfer_bench/data/trace.py), https://github.com/NVIDIA/SOL-ExecBench
// (src/sol_execbench/data/trace.py). Latencies are milliseconds; speedup_factor is reference latency ÷ latency.
#include <fmt/core.h>

#include "import/claims/result_file.h"

namespace kvet::importing::formats {

bool is_trace(const JsonValue& root) {
  return root["definition"].is(JsonValue::Kind::text) &&
         (root["evaluation"].is_object() || root["workload"].is_object());
}

Result<void> add_trace(const JsonValue& root, size_t line, ResultFile& into) {
  const JsonValue& evaluation = root["evaluation"];
  if (!evaluation.is_object()) {
    return {};  // a workload without a result
  }
  constexpr double ms = 1e6;  // ns
  ResultRow row;
  const std::string definition(root["definition"].string()), solution(root["solution"].string()),
      workload(root["workload"]["uuid"].string());
  row.id = fmt::format("{}/{}/{}", definition, solution, workload);
  row.aliases = {solution, workload, fmt::format("{}/{}", solution, workload),
                 fmt::format("{}/{}", definition, solution)};
  row.workload = fmt::format("{}/{}", definition, workload);
  row.device = evaluation["environment"]["hardware"].string();
  row.where = fmt::format("line {}", line);
  if (const std::string_view status = evaluation["status"].string(); status != "PASSED") {
    note_problem(row, fmt::format("its status is \"{}\", not PASSED", status.substr(0, 60)));
  }
  const JsonValue& performance = evaluation["performance"];
  struct Figure {
    const char* key;
    double factor;
    std::optional<double>& into;
  };
  for (const Figure& figure :
       {Figure{"latency_ms", ms, row.candidate_ns}, Figure{"reference_latency_ms", ms, row.baseline_ns},
        Figure{"speedup_factor", 1, row.ratio}}) {
    const JsonValue& value = performance[figure.key];
    if (value.is_number()) {
      take_positive(row, value.number, figure.key, figure.factor, figure.into);
    } else if (!value.is(JsonValue::Kind::null)) {
      note_problem(row, fmt::format("{} is not a number", figure.key));  // "Infinity", as pydantic may write it
    }
  }
  return add_row(into, std::move(row));
}

}  // namespace kvet::importing::formats
