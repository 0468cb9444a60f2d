// The one way in which kvet speaks to a person outside a report: lines on stderr.
#pragma once

#include <string_view>

#include "base/result.h"

namespace kvet {

// Whether colour may be used on this descriptor: a terminal that is not "dumb", and NO_COLOR unset (no-color.org).
[[nodiscard]] bool colour_allowed(int descriptor);

// "kvet: message" (or "kvet: warning: message") on stderr; what is not printable is escaped. One write(2), so that lines
// of several processes do not mix.
void print_error(std::string_view message);
void print_warning(std::string_view message);
void print_note(std::string_view message);

// Prints the error and gives its exit status: `return report_error(result.error());`
[[nodiscard]] int report_error(const Error& error);

}  // namespace kvet
