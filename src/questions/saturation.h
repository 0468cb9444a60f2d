// Was the memory saturated? What a device can reach depends on the mix of reads and writes: every switch of direction costs
// the DRAM bus time, so a copy reaches less than a read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/capture.h"

namespace kvet::questions {

// The bandwidth that a device reaches at a mix of reads and writes. From the capture's facts
// `calibration.dram.UUIDHEX.read`, `.write`, `.read_write_1_1` and `.read_write_2_1` (bytes/s, as `kvet doctor --calibrate`
// measured them), linear in the share of reads between these; where one of the first three is not there, 92% of the theoretical
// peak at any mix; where that is unknown too, nothing.
class ReachableBandwidth {
 public:
  // At or above this share of what is reachable, memory counts as saturated.
  static constexpr double saturated_share = 0.9;
  static constexpr double share_of_peak = 0.92;

  ReachableBandwidth(const Capture& capture, const Device& device);

  [[nodiscard]] bool known() const { return !points_.empty(); }
  [[nodiscard]] bool calibrated() const { return calibrated_; }
  // Bytes per second; `read_share` from 0 to 1. Call only where known().
  [[nodiscard]] double at(double read_share) const;
  // Empty where the sample lacks its bytes, holds implausible ones, or nothing is known of the device.
  [[nodiscard]] std::optional<bool> saturated(const Sample& sample) const;
  // For splitting: without a calibration, from where on the memory may be saturated, whatever the mix. An H200 gives copies 82% of
  // its theoretical peak (measured); a method for saturated samples does no harm where there is some room left, while the one
  // for unsaturated samples goes wrong where there is none.
  static constexpr double least_share_of_peak = 0.82;
  [[nodiscard]] std::optional<bool> perhaps_saturated(const Sample& sample) const;

 private:
  [[nodiscard]] std::optional<bool> reaches(const Sample& sample, double share) const;
  struct Point {
    double read_share, bytes_per_s;
  };
  std::vector<Point> points_;  // by share of reads
  bool calibrated_ = false;
};

// The device's UUID as the facts' keys have it: 32 lower-case hexadecimal digits.
[[nodiscard]] std::string uuid_hexadecimal(const Device& device);

// A count that a counter can have read: finite, not negative, and below what any device counts in a sample.
[[nodiscard]] std::optional<double> plausible_count(const std::optional<double>& count);

}  // namespace kvet::questions
