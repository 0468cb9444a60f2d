// A verdict as text that fits one screen: at most 40 lines of at most 100 columns.
#pragma once

#include <string>

#include "report/report.h"
#include "verdict/verdict.h"

namespace kvet::report {

inline constexpr size_t screen_lines = 40;

[[nodiscard]] std::string render_verdict(const verdict::Verdict& verdict, const RenderOptions& options);

}  // namespace kvet::report
