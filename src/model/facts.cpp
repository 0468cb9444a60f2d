#include "model/facts.h"

#include <charconv>

namespace kvet {

std::optional<int64_t> time_fact(const Capture& capture, std::string_view key) {
  const std::string_view text = capture.fact(key);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr int64_t limit = 4'000'000'000'000'000'000;
  return !text.empty() && error == std::errc{} && end == text.data() + text.size() && value >= -limit && value <= limit
             ? std::optional{value}
             : std::nullopt;
}

std::optional<int64_t> unix_offset_ns(const Capture& capture) {
  const auto monotonic = time_fact(capture, "clock.monotonic_ns"), realtime = time_fact(capture, "clock.realtime_ns");
  return monotonic && realtime ? std::optional(*realtime - *monotonic) : time_fact(capture, "import.base_time_ns");
}

}  // namespace kvet
