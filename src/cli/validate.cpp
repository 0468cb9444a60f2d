// kvet validate: the main job.
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/experiment_command.h"

namespace kvet::cli {

int run_validate(const ValidateOptions& options) {
  auto plan = validate::read_plan(options.plan);
  if (!plan) {
    return report_error(plan.error());
  }
  return run_plan(std::move(*plan), options.experiment, options.plan, "kvet validate " + options.plan);
}

}  // namespace kvet::cli
