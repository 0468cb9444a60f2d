// A verdict for a pull request's discussion: GitHub-flavoured Markdown with the values of the text verdict.
#pragma once

#include <string>

#include "verdict/verdict.h"

namespace kvet::report {

// `passed`: what the gate says (verdict::passes). Ends with a newline.
[[nodiscard]] std::string verdict_markdown(const verdict::Verdict& verdict, bool passed);

}  // namespace kvet::report
