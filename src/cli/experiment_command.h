// What try and validate have in common.
#pragma once

#include "cli/options.h"
#include "validate/plan.h"

namespace kvet::cli {

// `plan_file` is what results in code scanning point to; "": the captures.
int run_plan(validate::Plan plan, const ExperimentOptions& options, const std::string& plan_file,
             const std::string& resume_command);

}  // namespace kvet::cli
