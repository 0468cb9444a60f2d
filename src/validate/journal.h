// blocks.json: what an experiment has done so far, so that an interrupted one can go on.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "validate/block_runner.h"

namespace kvet::validate {

struct IsolatedRun {
  verdict::Arm arm = verdict::Arm::baseline;
  uint32_t pair = 0;
  double value = 0;
};

struct Journal {
  std::string experiment;
  std::string plan;  // the plan's text: a run goes on with the plan it began with
  std::string check_baseline, check_candidate;  // "passed", "unchecked", "" while not run
  std::vector<IsolatedRun> isolated;
  std::vector<BlockResult> blocks;

  [[nodiscard]] const BlockResult* find(const Block& block) const;
};

std::string journal_path(const std::string& folder);
Result<void> save(const Journal& journal, const std::string& folder);
// bad_input: not a journal, or of another version.
Result<Journal> load_journal(const std::string& folder);

}  // namespace kvet::validate
