// Quantities that people write on the command line and in a plan.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace kvet {

// "250us", "1.5 s", "10m", "2h"; units ns, us, ms, s, m or min, h; a bare number is seconds. At least 0 and below 292
// years (what fits into nanoseconds in 64 bits). Errors are usage; `what` names the thing in the message.
[[nodiscard]] Result<int64_t> parse_duration_ns(std::string_view text, std::string_view what);

// A claim is baseline time ÷ candidate time: "1.38" or "1.38x". "38%" is refused, since it may mean 1.38 or 1.61.
// Only the form is checked here: whether a claim of that size can be decided is the verdict's business.
[[nodiscard]] Result<double> parse_claim(std::string_view text);

}  // namespace kvet
