// A plan: what to run, how to read its result, and what was claimed. docs/plan.md describes the file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/claim.h"

namespace kvet::validate {

// Finds the workload's own figure in its output: the last match of the expression's one group.
struct MetricRule {
  std::string regex;
  bool higher_is_better = true;
};

using Environment = std::map<std::string, std::string>;

// One side. Commands here replace those of [workload].
struct ArmPlan {
  Environment environment;
  std::optional<std::string> check, server, load, run;
};

// How the experiment is recorded; empty: what `kvet record` takes by default.
struct RecordingPlan {
  std::optional<std::string> counters, interval, tier;
};

struct IsolatedPlan {
  std::optional<std::string> run, baseline, candidate;  // run: for both arms, which differ by environment
  MetricRule metric{"", false};
  uint32_t pairs = 4;
};

struct Plan {
  std::string path;    // for messages; "" for a plan made in memory
  std::string folder;  // commands run here
  std::string text;    // as read, for the result folder

  std::optional<double> claim;  // a plan in a file has one
  std::optional<Claim> claim_source;  // where the claim comes from a file
  std::vector<std::string> kernels;
  std::optional<std::string> step;
  std::optional<uint32_t> quads;  // fixed beforehand, instead of looks at 4, 8 and 16
  uint64_t seed = 1;

  // Either a server with a load, or a program that does its work and ends.
  std::optional<std::string> server, ready, load, run;
  std::optional<std::string> warmup;        // a command, before the load
  std::optional<int64_t> warmup_ns;         // or a time that does not count
  std::optional<MetricRule> metric;
  int64_t ready_timeout_ns = 600'000'000'000;  // a large model takes minutes to load
  int64_t timeout_ns = 1'800'000'000'000;      // of a load, a run or a check
  Environment environment;                     // of both arms

  ArmPlan baseline, candidate;
  std::optional<IsolatedPlan> isolated;

  std::optional<std::string> device;  // CUDA_VISIBLE_DEVICES
  RecordingPlan recording;
  double overhead_budget = 0.05;
  std::optional<int64_t> max_time_ns;
};

// Reads and checks a plan. Errors are usage, with the line: bad TOML, an unknown key (with the nearest known one), a value
// of the wrong type, a claim that cannot be vetted, parts that contradict each other; bad_input: no such file.
Result<Plan> read_plan(const std::string& path);
// The same for text; `path` is used in messages, `folder` becomes Plan::folder.
Result<Plan> parse_plan(const std::string& text, const std::string& path, const std::string& folder);
// What parse_plan checks beyond the form; also for plans made in memory.
Result<void> check_plan(const Plan& plan);

// What `kvet init` writes: a plan to fill in, with every key explained.
extern const char* const plan_template;

}  // namespace kvet::validate
