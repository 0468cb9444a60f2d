// What compare, try and validate do with a verdict: show it, and turn it into an exit status.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "validate/result_files.h"
#include "verdict/verdict.h"

namespace kvet::cli {

void show_verdict(const verdict::Verdict& verdict, VerdictFormat format, const validate::Gate& gate);
// --accept turns words into 0; a word that is only "likely" counts as INCONCLUSIVE.
int status_of(const verdict::Verdict& verdict, const std::vector<std::string>& accept);

}  // namespace kvet::cli
