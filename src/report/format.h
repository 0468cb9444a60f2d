// Numbers for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/finding.h"

namespace kvet::report {

// Three significant digits and a fitting prefix: "12.3 µs", "4.02 TB/s", "87.5 %", "1.38". Units that are not known here
// follow the number as they are. At most 11 columns for the units of docs/findings.md and values below 10^15.
[[nodiscard]] std::string format_value(double value, std::string_view unit);

// "[11.9, 12.8]" in the unit (and prefix) that format_value gives `value`.
[[nodiscard]] std::string format_interval(const Interval& interval, double value, std::string_view unit);

// "1,234,567"
[[nodiscard]] std::string format_count(uint64_t count);

}  // namespace kvet::report
