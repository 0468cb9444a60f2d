// What `--dry-run` says: whether the plan can run here, what it can resolve, and how long it takes.
#pragma once

#include <string>
#include <vector>

#include "validate/experiment.h"

namespace kvet::validate {

struct DryRunLine {
  bool good = true;     // false: the experiment would not start, or would be refused
  std::string subject;  // "server", "GPU", …
  std::string text;
};

struct DryRun {
  std::vector<DryRunLine> lines;
  [[nodiscard]] bool good() const;
};

// Starts nothing but the capability trial. `settings.folder` may hold an earlier run, whose blocks say how long one takes and
// how noisy the baseline is against itself.
DryRun dry_run(const Plan& plan, const ExperimentSettings& settings);

}  // namespace kvet::validate
