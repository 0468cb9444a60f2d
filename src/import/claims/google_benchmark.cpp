// Google Benchmark: what --benchmark_out=FILE --benchmark_out_format=json writes.
// https://github.com/google/benchmark/blob/main/docs/user_guide.md ("Output Formats", "Reporting Statistics"). Repetitions of one
// benchmark share run_name; aggregates are rows of their own. The median is taken where there is one, else the mean, else the mean of
// the repetitions.
#include <fmt/core.h>

#include <cmath>
#include <map>

#include "import/claims/result_file.h"

namespace kvet::importing::formats {
namespace {

std::optional<double> nanoseconds_of(std::string_view unit) {
  return unit == "ns"   ? std::optional(1.0)
         : unit == "us" ? std::optional(1e3)
         : unit == "ms" ? std::optional(1e6)
         : unit == "s"  ? std::optional(1e9)
                        : std::nullopt;
}

// Which time of a benchmark is the best to have.
enum class Kind : uint8_t { none, repetition, mean, median };

struct Best {
  Kind kind = Kind::none;
  double sum_ns = 0, count = 0;
  ResultRow row;
};

Kind kind_of(const JsonValue& run) {
  if (run["run_type"].string() != "aggregate") {
    return Kind::repetition;
  }
  const std::string_view aggregate = run["aggregate_name"].string();
  return aggregate == "median" ? Kind::median : aggregate == "mean" ? Kind::mean : Kind::none;
}

void take(Best& best, const JsonValue& run, Kind kind) {
  const auto unit = nanoseconds_of(run["time_unit"].string());
  if (run["error_occurred"].truth || run["skipped"].truth) {
    note_problem(best.row, fmt::format("the benchmark failed: {}", run["error_message"].string().substr(0, 100)));
    return;
  }
  if (!unit) {
    note_problem(best.row,
                 fmt::format("its time_unit is \"{}\", not ns, us, ms or s", run["time_unit"].string().substr(0, 20)));
    return;
  }
  if (!run["real_time"].is_number()) {
    note_problem(best.row, run["real_time"].is(JsonValue::Kind::null)
                               ? std::string("it has no real_time")
                               : fmt::format("real_time is {}, not a number", described(run["real_time"])));
    return;
  }
  if (kind > best.kind) {
    best.kind = kind;
    best.sum_ns = best.count = 0;
  }
  std::optional<double> time;
  take_positive(best.row, run["real_time"].number, "real_time", *unit, time);
  best.sum_ns += time.value_or(0);
  ++best.count;
}

}  // namespace

bool is_google_benchmark(const JsonValue& root) {
  const JsonValue& benchmarks = root["benchmarks"];
  if (!benchmarks.is_array()) {
    return false;
  }
  if (benchmarks.elements.empty()) {
    return root["context"].is_object();
  }
  const JsonValue& first = benchmarks.elements.front();
  return first["name"].is(JsonValue::Kind::text) && !first["states"].is_array();
}

Result<void> add_google_benchmark(const JsonValue& root, ResultFile& into) {
  // Whoever benchmarks a GPU can say which with --benchmark_context=gpu=NAME.
  std::string_view device;
  for (const char* key : {"gpu", "gpu_name", "device", "device_name"}) {
    device = device.empty() ? root["context"][key].string() : device;
  }
  std::map<std::string_view, Best> all;
  const auto& runs = root["benchmarks"].elements;
  for (size_t i = 0; i < runs.size(); ++i) {
    const JsonValue& run = runs[i];
    const std::string_view name = run["run_name"].string().empty() ? run["name"].string() : run["run_name"].string();
    const Kind kind = kind_of(run);
    Best& best = all[name];
    if (best.row.where.empty()) {
      best.row.id = name;
      best.row.device = device;
      best.row.where = fmt::format("benchmarks[{}]", i);
    }
    if (kind >= best.kind && kind != Kind::none) {
      take(best, run, kind);
    }
  }
  for (auto& [name, best] : all) {
    if (best.count > 0 && best.row.problem.empty()) {
      best.row.candidate_ns = best.sum_ns / best.count;
    }
    if (auto added = add_row(into, std::move(best.row)); !added) {
      return added;
    }
  }
  return {};
}

}  // namespace kvet::importing::formats
