#include "probes/counters/burst_schedule.h"

#include <algorithm>

namespace kvet::probes {

int64_t BurstSchedule::distance() {
  const auto mean = static_cast<double>(plan_.period_ns);
  std::exponential_distribution<double> exponential(1 / std::max(1.0, mean));
  const double floor = 2.0 * static_cast<double>(plan_.length_ns);
  return static_cast<int64_t>(std::clamp(exponential(random_), floor, std::max(floor, 4 * mean)));
}

}  // namespace kvet::probes
