// kvet compare: a verdict from captures that exist already.
#include <unistd.h>

#include "base/terminal.h"
#include "base/unfinished_names.h"
#include "cli/commands.h"
#include "cli/output_check.h"
#include "cli/read_any.h"
#include "cli/verdict_output.h"
#include "import/claims/claims.h"
#include "import/ncu_csv.h"
#include "validate/result_files.h"
#include "verdict/comparison.h"

namespace kvet::cli {

int run_compare(const CompareOptions& options) {
  remove_unfinished_on_signals();
  if (auto good = check_result_folder(options.output); !good) {
    return report_error(good.error());
  }
  std::vector<verdict::Input> inputs;
  inputs.reserve(options.baseline.size() + options.candidate.size());
  for (const std::string& path : options.baseline) {
    inputs.push_back({path, verdict::Arm::baseline});
  }
  for (const std::string& path : options.candidate) {
    inputs.push_back({path, verdict::Arm::candidate});
  }
  verdict::ComparisonOptions comparison;
  comparison.decision.claim = options.claim;
  if (!options.claim_file.empty()) {
    auto claim = importing::read_claim(options.claim_file);
    if (!claim) {
      return report_error(claim.error());
    }
    comparison.decision.claim = claim->ratio;
    comparison.decision.claim_source = std::move(*claim);
  }
  comparison.decision.isolated_reason = "captures alone do not hold the isolated runs";
  comparison.frame.kernels = options.kernels;
  if (!options.isolated.empty() && importing::is_ncu_csv(options.isolated)) {
    auto profile = importing::read_ncu_csv(options.isolated);
    if (!profile) {
      return report_error(profile.error());
    }
    comparison.isolated_profile = std::move(*profile);
  } else {
    comparison.isolated = options.isolated;
  }
  auto verdict = verdict::compare(inputs, comparison, [](const verdict::Input& input) { return read_any(input.path); });
  if (!verdict) {
    return report_error(verdict.error());
  }
  if (!options.output.empty()) {
    const bool was_there = ::access(options.output.c_str(), F_OK) == 0;
    if (auto made = validate::make_folder(options.output); !made) {
      return report_error(made.error());
    }
    if (auto written = validate::write_verdict(options.output, *verdict, {options.accept, ""}); !written) {
      if (!was_there) {
        ::rmdir(options.output.c_str());
      }
      return report_error(written.error());
    }
  }
  show_verdict(*verdict, options.format, {options.accept, ""});
  return status_of(*verdict, options.accept);
}

}  // namespace kvet::cli
