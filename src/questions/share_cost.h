// What one execution of a launch shape costs when it runs alone: DRAM bytes, L2 sectors, instructions, tensor cycles. Held
// against its share beside siblings, since an execution has the same work to do there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "questions/counter_pool.h"
#include "questions/share_estimate.h"

namespace kvet::questions {

enum class SharedCount : uint8_t { dram_read, dram_write, l2_sectors, instructions, tensor_cycles };
constexpr size_t shared_counts = 5;
std::optional<double> read_count(const Sample& sample, SharedCount count);

class SoloCosts {
 public:
  // Of K's device. `band_ns`: how long after others' work a sample does not count (write-back).
  SoloCosts(const Capture& capture, DeviceId device, const DeviceSamples& samples, const SpanSet& transfers,
            int64_t band_ns);

  struct Shape {
    uint64_t runs = 0;  // alone from start to end
    double mean_ns = 0;
    std::array<std::optional<SoloCost>, shared_counts> cost;
  };
  // Computed on first use: a sweep over the device's executions.
  const Shape& of(ShapeId shape);

 private:
  const Capture& capture_;
  DeviceId device_;
  const DeviceSamples& samples_;
  const SpanSet& transfers_;
  int64_t band_ns_;
  std::map<uint32_t, Shape> known_;
};

}  // namespace kvet::questions
