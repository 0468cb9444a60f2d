// A verdict as JSON: docs/verdict-schema.md describes it.
#pragma once

#include <string>

#include "report/json.h"
#include "verdict/verdict.h"

namespace kvet::report {

[[nodiscard]] Json verdict_json(const verdict::Verdict& verdict, const std::string& kvet_version);

}  // namespace kvet::report
