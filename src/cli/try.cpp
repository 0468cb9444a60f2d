// kvet try: a verdict without a plan, from two commands that do their work and end.
#include <fmt/core.h>

#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/experiment_command.h"
#include "import/claims/claims.h"
#include "validate/metric.h"

namespace kvet::cli {

int run_try(const TryOptions& options) {
  validate::Plan plan;
  plan.claim = options.claim;
  if (!options.claim_file.empty()) {
    auto claim = importing::read_claim(options.claim_file);
    if (!claim) {
      return report_error(claim.error());
    }
    plan.claim = claim->ratio;
    plan.claim_source = std::move(*claim);
  }
  plan.kernels = options.kernels;
  plan.baseline.run = options.baseline;
  plan.candidate.run = options.candidate;
  if (!options.metric.empty()) {
    plan.metric = validate::MetricRule{options.metric, !options.lower_is_better};
  }
  if (!options.check.empty()) {
    plan.candidate.check = options.check;
  }
  // Kept in the result folder, and compared when a run is resumed.
  plan.text = fmt::format("# kvet try --base '{}' --cand '{}' --metric '{}' --check '{}'{}\n", options.baseline,
                          options.candidate, options.metric, options.check,
                          plan.claim ? fmt::format(" --claim {}", *plan.claim) : "");
  if (auto good = validate::check_plan(plan); !good) {
    return report_error(good.error());
  }
  if (plan.metric) {
    if (auto good = validate::check_metric(*plan.metric); !good) {
      return report_error(good.error());
    }
  }
  return run_plan(std::move(plan), options.experiment, "", "kvet try with the same commands, and");
}

}  // namespace kvet::cli
