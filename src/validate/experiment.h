// The main job: checks, isolated runs, blocks of both arms in turn, looks, verdict.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "validate/journal.h"
#include "validate/plan.h"
#include "validate/result_files.h"
#include "verdict/decide.h"

namespace kvet::validate {

struct ExperimentSettings {
  std::string folder;  // of the results; made when it is not there
  bool resume = false;
  std::optional<int64_t> max_time_ns;  // replaces the plan's
  std::optional<uint32_t> quads;       // replaces the plan's
  bool no_aa = false;
  Gate gate;
  std::string recorder = "/proc/self/exe";
  std::function<void(const std::string&)> note;  // one line for the person who waits
};

// Leaves captures/, logs/, blocks.json, plan.toml, and the verdict in all formats in the folder. Errors: usage (the folder
// holds another run), unavailable (a command failed, the GPU is taken), interrupted (resumable), and those of reading.
Result<verdict::Verdict> run_experiment(Plan plan, const ExperimentSettings& settings);

// What recording cost, from blocks with and without it. Empty where there is nothing to compare.
std::vector<verdict::OwnOverhead> own_overhead(const Journal& journal, const Plan& plan);

}  // namespace kvet::validate
