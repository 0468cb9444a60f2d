// Runs one block: one arm of the workload, recorded or not, from the start of its server to a finished capture.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "validate/plan.h"
#include "validate/schedule.h"

namespace kvet::validate {

struct RunSettings {
  std::string folder;  // of the results, absolute
  std::string experiment;  // id
  std::string recorder = "/proc/self/exe";
  std::string check = "unchecked";  // "passed" or "unchecked", noted in every capture
  std::string isolated;  // ratios of the isolated pairs, "2.63,2.62", noted in every capture; "": none
  std::function<void(const std::string&)> progress;  // one line for the person who waits
};

struct BlockResult {
  Block block;
  std::string capture;  // file name in the folder; "" for an unrecorded block
  std::optional<double> metric;
  int64_t load_from_ns = 0, load_to_ns = 0;  // CLOCK_MONOTONIC
  int64_t duration_ns = 0;                   // of the whole block
  uint32_t repeated = 0;                     // how often the recording failed before
};

// unavailable: the server ended, never answered, or could not be stopped; the load or the program failed or took too
// long; bad_input: the metric was not printed, the capture cannot be read; interrupted. Messages show the end of the log.
Result<BlockResult> run_block(const Plan& plan, const Block& block, const RunSettings& settings);

// A command of one arm that is not recorded (check, isolated run). Exit status and the path of its output.
struct CommandOutcome {
  int status = 0;
  std::string log;
};
Result<CommandOutcome> run_command(const Plan& plan, verdict::Arm arm, const std::string& command,
                                   const std::string& log_name, const RunSettings& settings);

// The same, but made again up to twice when the recording is unfit to carry a word: lost records, counts that disagree, no
// executions. What the kernels did has no say in it. The last try stays, whatever it is.
Result<BlockResult> run_block_until_fit(const Plan& plan, const Block& block, const RunSettings& settings);

// The environment of an arm: of both, then its own, then the device.
Environment environment_of(const Plan& plan, verdict::Arm arm);
// A command of an arm, or of the workload.
std::optional<std::string> server_of(const Plan& plan, verdict::Arm arm);
std::optional<std::string> load_of(const Plan& plan, verdict::Arm arm);
std::optional<std::string> run_of(const Plan& plan, verdict::Arm arm);

}  // namespace kvet::validate
