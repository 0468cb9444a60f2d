// Facts of a capture (Capture::meta) that are numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/capture.h"

namespace kvet {

// A fact that is a time, in nanoseconds; empty: it is not there, is no whole number, or no time that a capture can hold
// (126 years either way, so that sums and differences of two never overflow).
[[nodiscard]] std::optional<int64_t> time_fact(const Capture& capture, std::string_view key);

// What to add to a time of the capture for Unix time: from the pair of clocks that a recorder keeps, or from what an imported
// file says of its clock. Empty: neither is there.
[[nodiscard]] std::optional<int64_t> unix_offset_ns(const Capture& capture);

}  // namespace kvet
