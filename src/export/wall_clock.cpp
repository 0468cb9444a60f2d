#include "export/wall_clock.h"

#include <algorithm>
#include <limits>

#include "model/facts.h"

namespace kvet::exporting {

WallClock::WallClock(const Capture& capture) {
  offset_ns_ = unix_offset_ns(capture);
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
