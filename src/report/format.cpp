#include "report/format.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace kvet::report {
namespace {

struct Scale {
  double factor;
  std::string_view unit;
};
constexpr Scale times[] = {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};
constexpr Scale rates[] = {{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}};
constexpr Scale sizes[] = {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}};
constexpr Scale frequencies[] = {{1, "Hz"}, {1e3, "kHz"}, {1e6, "MHz"}, {1e9, "GHz"}};

std::span<const Scale> scales_of(std::string_view unit) {
  if (unit == "ns") {
    return times;
  }
  if (unit == "bytes/s") {
    return rates;
  }
  if (unit == "bytes") {
    return sizes;
  }
  if (unit == "Hz") {
    return frequencies;
  }
  return {};
}

std::string grouped(std::string digits) {
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

// How many decimals show three significant digits.
int decimals_of(double value) {
  const double size = std::fabs(value);
  // 9.995 is shown as 10.0, not 10.00: the limits are where rounding reaches the next power of ten.
  return size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
}

std::string plain(double value, int decimals) {
  if (std::isnan(value)) {
    return "?";
  }
  if (std::isinf(value)) {
    return value < 0 ? "−∞" : "∞";
  }
  std::string text = fmt::format("{:.{}f}", std::fabs(value), decimals);
  const size_t point = std::min(text.find('.'), text.size());
  if (point < 16) {
    text = grouped(text.substr(0, point)) + text.substr(point);
  } else {
    text = fmt::format("{:.2e}", std::fabs(value));
  }
  const bool zero = text.find_first_not_of("0.,") == std::string::npos;
  return value < 0 && !zero ? "-" + text : text;
}

// The largest prefix with which the value, as rounded, is at least 1.
Scale scale_for(double value, std::span<const Scale> scales) {
  Scale best = scales.front();
  for (const Scale& scale : scales) {
    if (std::fabs(value) >= scale.factor * (scale.factor > 1 ? 0.9995 : 1)) {
      best = scale;
    }
  }
  return best;
}

bool whole(double value) { return std::fabs(value) < 1e15 && value == std::nearbyint(value); }

}  // namespace

std::string format_value(double value, std::string_view unit) {
  if (const auto scales = scales_of(unit); !scales.empty()) {
    const Scale scale = scale_for(value, scales);
    const double scaled = value / scale.factor;
    const int decimals = scale.factor == 1 && whole(value) ? 0 : decimals_of(scaled);
    return plain(scaled, decimals) + " " + std::string(scale.unit);
  }
  const int decimals = whole(value) ? 0 : decimals_of(value);
  if (unit == "count" || unit == "ratio" || unit.empty()) {
    return plain(value, unit == "ratio" ? decimals_of(value) : decimals);
  }
  return plain(value, decimals) + " " + std::string(unit);
}

std::string format_interval(const Interval& interval, double value, std::string_view unit) {
  double factor = 1;
  if (const auto scales = scales_of(unit); !scales.empty()) {
    factor = scale_for(value, scales).factor;
  }
  const double low = interval.low / factor, high = interval.high / factor;
  const int decimals = factor == 1 && whole(low) && whole(high) && unit != "ratio"
                           ? 0
                           : std::max({decimals_of(low), decimals_of(high), 0});
  return "[" + plain(low, decimals) + ", " + plain(high, decimals) + "]";
}

std::string format_count(uint64_t count) { return grouped(fmt::format("{}", count)); }

}  // namespace kvet::report
