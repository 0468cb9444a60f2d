#include <algorithm>
#include <optional>

#include "questions/questions.h"

namespace kvet::questions {
namespace {

template <class Row>
void keep_beginning(std::vector<Row>& rows, int64_t from_ns, int64_t to_ns) {
  std::erase_if(rows, [&](const Row& row) { return row.start_ns < from_ns || row.start_ns >= to_ns; });
}

// The part of a sample inside the window; its sums shrink in proportion, as if the reading had been even.
std::optional<Sample> cut(Sample sample, int64_t from_ns, int64_t to_ns) {
  const int64_t start = std::max(sample.start_ns, from_ns), end = std::min(sample.end_ns, to_ns);
  if (start >= end) {
    return std::nullopt;
  }
  const double part = static_cast<double>(end - start) / static_cast<double>(sample.end_ns - sample.start_ns);
  if (part < 1) {
    for (std::optional<double>* sum :
         {&sample.cycles_elapsed, &sample.sm_active_cycles, &sample.warp_cycles, &sample.warps_max, &sample.warps_min,
          &sample.register_cycles, &sample.shared_byte_cycles, &sample.warps_launched, &sample.blocks_completed,
          &sample.dram_read_bytes, &sample.dram_write_bytes, &sample.instructions, &sample.tensor_cycles,
          &sample.l2_sectors, &sample.context_switch_cycles}) {
      if (*sum) {
        **sum *= part;
      }
    }
    sample.start_ns = start;
    sample.end_ns = end;
  }
  return sample;
}

}  // namespace

Capture within_window(const Capture& capture, int64_t from_ns, int64_t to_ns) {
  Capture part = capture;
  keep_beginning(part.api_calls, from_ns, to_ns);
  keep_beginning(part.executions, from_ns, to_ns);
  keep_beginning(part.transfers, from_ns, to_ns);
  keep_beginning(part.ranges, from_ns, to_ns);
  keep_beginning(part.off_cpu, from_ns, to_ns);
  keep_beginning(part.collective_calls, from_ns, to_ns);
  std::erase_if(part.device_readings,
                [&](const DeviceReading& reading) { return reading.time_ns < from_ns || reading.time_ns >= to_ns; });
  part.samples.clear();
  for (const Sample& sample : capture.samples) {
    if (auto inside = cut(sample, from_ns, to_ns)) {
      part.samples.push_back(*inside);
    }
  }
  return part;
}

}  // namespace kvet::questions
