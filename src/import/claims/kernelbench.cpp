// KernelBench: what scripts/eval_from_generations.py writes (eval_results.json: per problem one sample or a list of samples, as
// KernelExecResult of src/eval.py), and results/timing/HARDWARE/baseline_time_*.json (per level and problem the statistics of the
// reference). https://github.com/ScalingIntelligence/KernelBench. Times are milliseconds, as CUDA events give them, although a comment
// in KernelExecResult says microseconds.
#include <fmt/core.h>

#include <algorithm>

#include "import/claims/result_file.h"

namespace kvet::importing::formats {
namespace {

constexpr double ms = 1e6;  // ns
constexpr int deepest = 4;  // level / problem / sample

bool is_sample(const JsonValue& value) {
  return value["runtime"].is_number() || value["speedup"].is_number() || value["mean"].is_number() ||
         value["compiled"].is(JsonValue::Kind::boolean);
}

bool holds_sample(const JsonValue& value, int depth) {
  if (is_sample(value)) {
    return true;
  }
  if (depth == deepest) {
    return false;
  }
  for (const JsonValue& element : value.elements) {
    if (holds_sample(element, depth + 1)) {
      return true;
    }
  }
  return false;
}

// The time under `key`, else the mean of its statistics. −1 is how KernelBench writes "not measured".
void take_time(ResultRow& row, const JsonValue& sample, const std::string& key, bool needed,
               std::optional<double>& into) {
  const JsonValue& time = sample[key];
  if (!time.is_number() && !time.is(JsonValue::Kind::null)) {
    note_problem(row, fmt::format("{} is {}, not a number", key, described(time)));
  }
  const JsonValue& mean = sample[key + "_stats"]["mean"];
  const JsonValue& value = time.is_number() && (time.number != -1 || !mean.is_number()) ? time : mean;
  if (value.is_number() && (needed || value.number != -1)) {
    take_positive(row, value.number, key, ms, into);
  }
}

ResultRow row_of(const JsonValue& sample, std::string id, std::string where) {
  ResultRow row;
  row.id = std::move(id);
  row.where = std::move(where);
  for (const JsonValue* place : {&sample, &sample["runtime_stats"], &sample["metadata"]}) {
    if (row.device.empty()) {
      row.device = (*place)["hardware"].string();
    }
  }
  for (const char* test : {"compiled", "correctness"}) {
    if (std::ranges::find(sample.keys, test) == sample.keys.end()) {
      continue;
    }
    if (const JsonValue& passed = sample[test]; !passed.is(JsonValue::Kind::boolean) || !passed.truth) {
      note_problem(row,
                   fmt::format("{} is {}: only of a result that is true there is a speed", test, described(passed)));
    }
  }
  if (sample["mean"].is_number()) {
    take_positive(row, sample["mean"].number, "mean", ms, row.candidate_ns);
  } else {
    row.known_correct = sample["correctness"].truth;
    take_time(row, sample, "runtime", true, row.candidate_ns);
    take_time(row, sample, "ref_runtime", false, row.baseline_ns);
  }
  const JsonValue& speedup =
      sample["speedup"].is(JsonValue::Kind::null) ? sample["metadata"]["speedup"] : sample["speedup"];
  if (speedup.is_number()) {
    take_positive(row, speedup.number, "speedup", 1, row.ratio);
  } else if (speedup.is(JsonValue::Kind::text)) {
    note_problem(row, "speedup is a text, not a number");
  }
  return row;
}

Result<void> collect(const JsonValue& value, const std::string& id, const std::string& where, int depth,
                     ResultFile& into) {
  if (is_sample(value)) {
    ResultRow row = row_of(value, id.empty() ? "1" : id, where);
    if (const size_t slash = row.id.rfind('/'); slash != std::string::npos) {
      row.aliases.push_back(row.id.substr(slash + 1));
    }
    return add_row(into, std::move(row));
  }
  if (depth == deepest) {
    return {};
  }
  const std::string prefix = id.empty() ? "" : id + "/";
  for (size_t i = 0; i < value.elements.size(); ++i) {
    const JsonValue& element = value.elements[i];
    if (value.is_object()) {
      const std::string& key = value.keys[i];
      if (auto added =
              collect(element, prefix + key, fmt::format("{}[\"{}\"]", where, key.substr(0, 100)), depth + 1, into);
          !added) {
        return added;
      }
      continue;
    }
    const JsonValue& number = depth == 0 ? element["problem_id"] : element["sample_id"];
    const std::string name = number.is_number()                 ? fmt::format("{}", number.number)
                             : number.is(JsonValue::Kind::text) ? number.text
                                                                : fmt::format("{}", i);
    // A problem with one sample is known by its own number.
    const bool only = depth > 0 && value.elements.size() == 1;
    if (auto added = collect(element, only ? id : prefix + name, fmt::format("{}[{}]", where, i), depth + 1, into);
        !added) {
      return added;
    }
  }
  return {};
}

}  // namespace

bool is_kernelbench(const JsonValue& root) { return holds_sample(root, 0); }

Result<void> add_kernelbench(const JsonValue& root, ResultFile& into) { return collect(root, "", "", 0, into); }

}  // namespace kvet::importing::formats
