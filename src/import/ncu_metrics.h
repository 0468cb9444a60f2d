// Which of Nsight Compute's metrics become which figure, by the names of the details page and of the raw page, old and new.
// Names: https://docs.nvidia.com/nsight-compute/ProfilingGuide/ ("Metrics Reference", "Sections and Rules"). Which raw metric stands behind a name of the details page is
// in the section files that come with the tool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kvet::importing {

enum class NcuFigure : uint8_t {
  occupancy_active,
  occupancy_elapsed,
  occupancy_theoretical,
  dram_read,
  dram_write,
  dram_both,
  dram_rate,  // bytes per second
  dram_peak,
  duration,
  cycles,
  active_cycles,
  sm_clock,
  grid_x,
  grid_y,
  grid_z,
  block_x,
  block_y,
  block_z,
};
inline constexpr size_t ncu_figures = static_cast<size_t>(NcuFigure::block_z) + 1;

enum class NcuDimension : uint8_t { percent, bytes, bytes_per_second, seconds, cycles, hertz, count };

struct NcuMetric {
  std::string_view name;
  NcuFigure figure;
  NcuDimension dimension;
  double factor = 1;  // of a value in the dimension's own unit: 32 for sectors counted as bytes
};

// Earlier ones are the better source of the same figure.
[[nodiscard]] std::span<const NcuMetric> ncu_metrics();

// What a value in `unit` is multiplied with to be in percent, bytes, bytes/s, seconds, cycles, hertz. Prefixes are powers of 1000. Empty:
// not a unit of that dimension.
[[nodiscard]] std::optional<double> ncu_unit(std::string_view unit, NcuDimension dimension);

}  // namespace kvet::importing
