// Numbers as JSON writes them, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kvet::importing {

// A valid JSON number × 10^power as a whole number, the nearest one where digits are left over (half away from zero). Empty: it
// is beyond ±4·10^18, the range of a capture's times.
[[nodiscard]] std::optional<int64_t> scaled(std::string_view number, int power);

// µs to ns: Kineto writes ns ÷ 1000, with three digits behind the point or none.
[[nodiscard]] inline std::optional<int64_t> nanoseconds_of_microseconds(std::string_view number) {
  return scaled(number, 3);
}
// Empty where it is no whole number of the type's range.
template <class T>
[[nodiscard]] std::optional<T> whole(std::string_view number);

}  // namespace kvet::importing
