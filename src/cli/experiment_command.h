// What try and validate have in common.
#pragma once

#include "cli/options.h"
#include "validate/plan.h"

namespace kvet::cli {

int run_plan(validate::Plan plan, const ExperimentOptions& options, const std::string& resume_command);

}  // namespace kvet::cli
