// A capture comes from a stranger: what a sample says must be possible on its device.
#pragma once

#include "model/events.h"

namespace kvet::questions {

// Whether an SM's warp slots can hold what the sample counts; a hundredth beyond is reading error. Where the device's limits
// are unknown nothing is impossible.
[[nodiscard]] inline bool possible(const Sample& sample, const Device& device) {
  constexpr double reading_error = 1.01;
  if (!sample.warp_cycles || !sample.cycles_elapsed || device.multiprocessors == 0 ||
      device.max_warps_per_multiprocessor == 0) {
    return true;
  }
  return *sample.warp_cycles <=
         reading_error * *sample.cycles_elapsed * device.multiprocessors * device.max_warps_per_multiprocessor;
}

}  // namespace kvet::questions
