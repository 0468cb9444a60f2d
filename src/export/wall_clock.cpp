#include "export/wall_clock.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

namespace kvet::exporting {
namespace {

std::optional<int64_t> time_fact(const Capture& capture, std::string_view key) {
  const std::string_view text = capture.fact(key);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                                   : std::nullopt;
}

}  // namespace

WallClock::WallClock(const Capture& capture) {
  const auto monotonic = time_fact(capture, "clock.monotonic_ns"), real = time_fact(capture, "clock.realtime_ns");
  int64_t offset = 0;
  if (monotonic && real && !__builtin_sub_overflow(*real, *monotonic, &offset)) {
    offset_ns_ = offset;
  } else {
    offset_ns_ = time_fact(capture, "import.base_time_ns");
  }
  int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
  const auto see = [&](const auto& rows) {
    for (const auto& row : rows) {
      first = std::min(first, row.start_ns);
      last = std::max(last, row.end_ns);
    }
  };
  see(capture.api_calls);
  see(capture.executions);
  see(capture.transfers);
  const bool any = first <= last;
  begin_ns_ = time_fact(capture, "record.start_ns").value_or(any ? first : 0);
  end_ns_ = std::max(begin_ns_, time_fact(capture, "record.end_ns").value_or(any ? last : 0));
}

uint64_t WallClock::unix_ns(int64_t time_ns) const {
  int64_t real = 0;
  if (__builtin_add_overflow(time_ns, offset_ns_.value_or(0), &real) || real < 0) {
    return 0;
  }
  return static_cast<uint64_t>(real);
}

}  // namespace kvet::exporting
