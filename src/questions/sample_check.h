// A capture comes from a stranger: what a sample says must be possible on its device.
#pragma once

#include "model/events.h"

namespace kvet::questions {

// Whether the SMs' warp slots can hold, and the memory can move, what the sample counts; a little beyond is reading error. Where
// the device's limits are unknown nothing is impossible.
[[nodiscard]] inline bool possible(const Sample& sample, const Device& device) {
  constexpr double reading_error = 1.01, clock_error = 1.1;
  const double bytes = sample.dram_read_bytes.value_or(0) + sample.dram_write_bytes.value_or(0);
  const double most_bytes = static_cast<double>(device.memory_bandwidth_bytes_per_s) *
                            static_cast<double>(sample.end_ns - sample.start_ns) / 1e9;
  if (most_bytes > 0 && bytes > clock_error * most_bytes) {
    return false;
  }
  if (!sample.warp_cycles || !sample.cycles_elapsed || device.multiprocessors == 0 ||
      device.max_warps_per_multiprocessor == 0) {
    return true;
  }
  return *sample.warp_cycles <=
         reading_error * *sample.cycles_elapsed * device.multiprocessors * device.max_warps_per_multiprocessor;
}

}  // namespace kvet::questions
