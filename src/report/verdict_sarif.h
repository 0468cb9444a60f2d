// A verdict as SARIF 2.1.0 (OASIS, docs.oasis-open.org/sarif/sarif/v2.1.0), for code scanning.
#pragma once

#include <string>

#include "report/json.h"
#include "verdict/verdict.h"

namespace kvet::report {

// One run; one result for the word, for each thing that stands against it, and for each finding that the verdict shows. `artifact` is the file
// that results point to (the plan); empty: the candidate's first capture.
[[nodiscard]] Json verdict_sarif(const verdict::Verdict& verdict, bool passed, const std::string& artifact);

}  // namespace kvet::report
