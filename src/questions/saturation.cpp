#include "questions/saturation.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kvet::questions {
namespace {

// No memory moves more than this in a second, and no calibration measures less (1 GB/s).
constexpr double most_bytes_per_s = 1e15, least_bytes_per_s = 1e9;

std::optional<double> bandwidth(const Capture& capture, const std::string& key) {
  const std::string_view text = capture.fact(key);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= least_bytes_per_s) ||
      !(value <= most_bytes_per_s)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::string uuid_hexadecimal(const Device& device) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : device.uuid) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::optional<double> plausible_count(const std::optional<double>& count) {
  // A sample of a minute at 10 PB/s is below 1e18.
  return count && *count >= 0 && *count < 1e18 ? count : std::nullopt;
}

ReachableBandwidth::ReachableBandwidth(const Capture& capture, const Device& device) {
  const std::string stem = "calibration.dram." + uuid_hexadecimal(device) + ".";
  const auto read = bandwidth(capture, stem + "read"), write = bandwidth(capture, stem + "write"),
             even = bandwidth(capture, stem + "read_write_1_1"), two = bandwidth(capture, stem + "read_write_2_1");
  if (read && write && even) {
    points_ = {{0, *write}, {0.5, *even}};
    if (two) {
      points_.push_back({2.0 / 3, *two});
    }
    points_.push_back({1, *read});
    calibrated_ = true;
  } else if (device.memory_bandwidth_bytes_per_s != 0) {
    points_ = {{0, share_of_peak * static_cast<double>(device.memory_bandwidth_bytes_per_s)}};
  }
}

double ReachableBandwidth::at(double read_share) const {
  const auto above = std::ranges::find_if(points_, [&](const Point& point) { return point.read_share >= read_share; });
  if (above == points_.end()) {
    return points_.back().bytes_per_s;
  }
  if (above == points_.begin()) {
    return above->bytes_per_s;
  }
  const Point& below = *(above - 1);
  const double part = (read_share - below.read_share) / (above->read_share - below.read_share);
  return below.bytes_per_s + part * (above->bytes_per_s - below.bytes_per_s);
}

std::optional<bool> ReachableBandwidth::saturated(const Sample& sample) const {
  return reaches(sample, saturated_share);
}

std::optional<bool> ReachableBandwidth::perhaps_saturated(const Sample& sample) const {
  return reaches(sample, calibrated_ ? saturated_share : saturated_share * least_share_of_peak / share_of_peak);
}

std::optional<bool> ReachableBandwidth::reaches(const Sample& sample, double share) const {
  const auto read = plausible_count(sample.dram_read_bytes), write = plausible_count(sample.dram_write_bytes);
  if (!known() || !read || !write || sample.end_ns <= sample.start_ns) {
    return std::nullopt;
  }
  const double bytes = *read + *write;
  if (bytes == 0) {
    return false;
  }
  const double seconds = static_cast<double>(sample.end_ns - sample.start_ns) / 1e9;
  return bytes >= share * at(*read / bytes) * seconds;
}

}  // namespace kvet::questions
