// From the capture's clock to what the calendar says.
#pragma once

#include <cstdint>
#include <optional>

#include "model/capture.h"

namespace kvet::exporting {

class WallClock {
 public:
  explicit WallClock(const Capture& capture);
  // By the capture's one pair of readings, or what an imported file says of its 0; without these times stay as they are, as if the capture's clock had begun in 1970.
  [[nodiscard]] bool known() const { return offset_ns_.has_value(); }
  // Nanoseconds since 1970, UTC; 0 for what would be before.
  [[nodiscard]] uint64_t unix_ns(int64_t time_ns) const;
  // When the recording began and ended, or the first and last event.
  [[nodiscard]] int64_t begin_ns() const { return begin_ns_; }
  [[nodiscard]] int64_t end_ns() const { return end_ns_; }

 private:
  std::optional<int64_t> offset_ns_;
  int64_t begin_ns_ = 0, end_ns_ = 0;
};

}  // namespace kvet::exporting
