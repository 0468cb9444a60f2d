// A verdict as JUnit XML, for CI systems that show tests. One suite: the word, the measurement, the kernel, the evidence, and one test case per
// level. Where the gate lets the verdict through nothing in it fails, so that it agrees with the exit status.
#pragma once

#include <string>

#include "verdict/verdict.h"

namespace kvet::report {

[[nodiscard]] std::string verdict_junit(const verdict::Verdict& verdict, bool passed);

}  // namespace kvet::report
