// Finds a figure in what a program printed.
#pragma once

#include <string>

#include "base/result.h"
#include "validate/plan.h"

namespace kvet::validate {

// usage: not a regular expression, or not exactly one group.
Result<void> check_metric(const MetricRule& rule);

// The group of the last match, line by line. bad_input: no line matches, or the group is not a positive number; the
// message shows the last line that was printed.
Result<double> find_metric(const MetricRule& rule, const std::string& output, const std::string& of_what);

}  // namespace kvet::validate
