// Integrals over the past of a device, for the sampler.
#include <algorithm>

#include "device/engine.h"

namespace simcuda {
namespace {

const Segment& at(const Device& device, uint64_t number) { return device.history[number % history_segments]; }

// The last segment that begins at or before `time_ns`.
uint64_t find(const Device& device, uint64_t oldest, int64_t time_ns) {
  uint64_t low = oldest, high = device.segment_count;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    (at(device, middle).from_ns <= time_ns ? low : high) = middle;
  }
  return low;
}

}  // namespace

Totals totals(const World& world, uint32_t device_index, int64_t from_ns, int64_t to_ns) {
  const Device& device = world.devices[device_index];
  Totals sum{};
  uint64_t oldest = device.segment_count > history_segments ? device.segment_count - history_segments : 0;
  sum.truncated = oldest > 0 && at(device, oldest).from_ns > from_ns;
  uint64_t first = find(device, oldest, from_ns);
  uint64_t last = find(device, oldest, to_ns);
  for (uint64_t i = first; i <= last; ++i) {
    const Segment& segment = at(device, i);
    int64_t begin = std::max(from_ns, segment.from_ns);
    int64_t end = i + 1 < device.segment_count ? std::min(to_ns, at(device, i + 1).from_ns) : to_ns;
    if (end <= begin) {
      continue;
    }
    auto length = static_cast<double>(end - begin);
    sum.warp_ns += segment.warps * length;
    sum.register_ns += static_cast<double>(segment.registers) * length;
    sum.shared_byte_ns += static_cast<double>(segment.shared_bytes) * length;
    sum.active_multiprocessor_ns += segment.active_multiprocessors * length;
    sum.warps_fullest_ns += segment.warps_fullest * length;
    sum.warps_emptiest_ns += segment.warps_emptiest * length;
    sum.read_bytes += segment.read_rate * length;
    sum.write_bytes += segment.write_rate * length;
    sum.instructions += segment.instruction_rate * length;
  }
  sum.warps_launched = static_cast<double>(at(device, last).warps_launched - at(device, first).warps_launched);
  sum.blocks_completed = static_cast<double>(at(device, last).blocks_completed - at(device, first).blocks_completed);
  return sum;
}

}  // namespace simcuda
