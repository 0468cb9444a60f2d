#include "import/ncu_metrics.h"

#include <array>

#include "base/text.h"

namespace kvet::importing {
namespace {

using enum NcuFigure;
using D = NcuDimension;

constexpr NcuMetric metrics[] = {
    {"sm__warps_active.avg.pct_of_peak_sustained_active", occupancy_active, D::percent},
    {"Achieved Occupancy", occupancy_active, D::percent},
    {"sm__warps_active.avg.pct_of_peak_sustained_elapsed", occupancy_elapsed, D::percent},
    {"sm__maximum_warps_per_active_cycle_pct", occupancy_theoretical, D::percent},
    {"Theoretical Occupancy", occupancy_theoretical, D::percent},
    {"dram__bytes_read.sum", dram_read, D::bytes},
    {"dram__sectors_read.sum", dram_read, D::count, 32},
    {"dram__bytes_write.sum", dram_write, D::bytes},
    {"dram__sectors_write.sum", dram_write, D::count, 32},
    {"dram__bytes.sum", dram_both, D::bytes},
    {"dram__bytes.sum.per_second", dram_rate, D::bytes_per_second},
    {"Memory Throughput", dram_rate, D::bytes_per_second},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", dram_peak, D::percent},
    {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", dram_peak, D::percent},
    {"DRAM Throughput", dram_peak, D::percent},
    {"gpu__time_duration.sum", duration, D::seconds},
    {"gpu__time_duration.avg", duration, D::seconds},
    {"gpu__time_duration.max", duration, D::seconds},
    {"Duration", duration, D::seconds},
    {"gpc__cycles_elapsed.max", cycles, D::cycles},
    {"sm__cycles_elapsed.max", cycles, D::cycles},
    {"sm__cycles_elapsed.avg", cycles, D::cycles},
    {"Elapsed Cycles", cycles, D::cycles},
    {"sm__cycles_active.avg", active_cycles, D::cycles},
    {"SM Active Cycles", active_cycles, D::cycles},
    {"Average SM Active Cycles", active_cycles, D::cycles},
    {"sm__cycles_elapsed.avg.per_second", sm_clock, D::hertz},
    {"gpc__cycles_elapsed.avg.per_second", sm_clock, D::hertz},
    {"SM Frequency", sm_clock, D::hertz},
    {"launch__grid_dim_x", grid_x, D::count},
    {"launch__grid_dim_y", grid_y, D::count},
    {"launch__grid_dim_z", grid_z, D::count},
    {"launch__block_dim_x", block_x, D::count},
    {"launch__block_dim_y", block_y, D::count},
    {"launch__block_dim_z", block_z, D::count},
};

struct Scale {
  std::string_view prefix;
  double factor;
};
constexpr Scale large[] = {{"", 1}, {"K", 1e3}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}};

// `word` as a prefix and one of the names.
template <size_t N>
std::optional<double> scaled(std::string_view word, const std::array<std::string_view, N>& names) {
  for (const Scale& scale : large) {
    for (std::string_view name : names) {
      if (word.starts_with(scale.prefix) && word.substr(scale.prefix.size()) == name) {
        return scale.factor;
      }
    }
  }
  return std::nullopt;
}

std::optional<double> seconds(std::string_view word) {
  constexpr struct {
    std::string_view name;
    double factor;
  } names[] = {{"ns", 1e-9}, {"nsecond", 1e-9}, {"us", 1e-6}, {"µs", 1e-6},   {"usecond", 1e-6},
               {"ms", 1e-3}, {"msecond", 1e-3}, {"s", 1.0},   {"second", 1.0}};
  for (const auto& [name, factor] : names) {
    if (word == name) {
      return factor;
    }
  }
  return std::nullopt;
}

constexpr std::array<std::string_view, 1> bytes{"byte"}, cycle{"cycle"};
constexpr std::array<std::string_view, 2> hertz{"hz", "Hz"};
constexpr std::array<std::string_view, 5> counts{"", "sector", "block", "thread", "register"};

// "Gbyte/second": the factor of the left part ÷ that of the right.
template <size_t N>
std::optional<double> rate(std::string_view unit, const std::array<std::string_view, N>& names) {
  const size_t slash = unit.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto above = scaled(unit.substr(0, slash), names);
  const auto below = seconds(unit.substr(slash + 1));
  return above && below ? std::optional(*above / *below) : std::nullopt;
}

}  // namespace

std::span<const NcuMetric> ncu_metrics() { return metrics; }

std::optional<double> ncu_unit(std::string_view unit, NcuDimension dimension) {
  unit = trimmed(unit);
  switch (dimension) {
    case NcuDimension::percent: return unit == "%" ? std::optional(1.0) : std::nullopt;
    case NcuDimension::bytes: return scaled(unit, bytes);
    case NcuDimension::bytes_per_second: return rate(unit, bytes);
    case NcuDimension::seconds: return seconds(unit);
    case NcuDimension::cycles: return scaled(unit, cycle);
    case NcuDimension::hertz: {
      const auto plain = scaled(unit, hertz);
      return plain ? plain : rate(unit, cycle);
    }
    case NcuDimension::count: return scaled(unit, counts);
  }
  return std::nullopt;
}

}  // namespace kvet::importing
