// Applies the clock mappings of a capture: raw times of each source become CLOCK_MONOTONIC, and events are sorted.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/capture.h"

namespace kvet::store {

// monotonic = raw + offset_ns + drift_ns_per_s × (raw − from_ns) ÷ 1e9 (model/events.h), for one source and device.
class ClockLine {
 public:
  // No mapping of the source: its times are on CLOCK_MONOTONIC already.
  ClockLine(const std::vector<ClockMapping>& mappings, ClockSource source, std::optional<DeviceId> device);

  // Both ends by the piece that holds at the start, so that no interval turns around where two pieces meet. False where
  // the result is out of range.
  [[nodiscard]] bool apply(int64_t& start_ns, int64_t& end_ns) const;

 private:
  [[nodiscard]] const ClockMapping* piece(int64_t raw_ns) const;
  std::vector<ClockMapping> pieces_;  // by from_ns
};

Result<void> apply_clocks(Capture& capture);

}  // namespace kvet::store
