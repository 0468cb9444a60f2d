#include "import/ncu_launches.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "import/ncu_csv.h"

namespace kvet::importing {
namespace {

constexpr const char* write_again = "Write it again: ncu --import FILE --csv > NEW.csv";
constexpr size_t most_devices = 256;
constexpr double most_percent = 101;  // rounding
constexpr double largest = 1e18;      // of anything that one launch can do

// "(1024, 1, 1)". Zeros where it is something else.
std::array<uint32_t, 3> dimensions_of(std::string_view text) {
  std::array<uint32_t, 3> sizes{};
  text = trimmed(text);
  if (!text.starts_with('(') || !text.ends_with(')')) {
    return {};
  }
  const auto parts = split(text.substr(1, text.size() - 2), ',');
  if (parts.size() != sizes.size()) {
    return {};
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string_view part = trimmed(parts[i]);
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), sizes[i]);
    if (error != std::errc{} || end != part.data() + part.size()) {
      return {};
    }
  }
  return sizes;
}

// The device's column holds its number, or (edited files) its name.
IsolatedDevice device_of(std::string_view device, std::string_view cc) {
  IsolatedDevice result;
  device = trimmed(device);
  if (!std::ranges::all_of(device, [](char c) { return c >= '0' && c <= '9'; })) {
    result.name = device;
  }
  cc = trimmed(cc);
  uint32_t major = 0, minor = 0;
  const auto first = std::from_chars(cc.data(), cc.data() + cc.size(), major);
  if (first.ec == std::errc{} && first.ptr != cc.data() + cc.size() && (*first.ptr == '.' || *first.ptr == ',')) {
    const auto second = std::from_chars(first.ptr + 1, cc.data() + cc.size(), minor);
    if (second.ec == std::errc{} && second.ptr == cc.data() + cc.size() && major < 1000 && minor < 1000) {
      result.compute_major = major;
      result.compute_minor = minor;
    }
  }
  return result;
}

bool not_known(std::string_view text) {
  text = trimmed(text);
  return text.empty() || text == "n/a" || text == "N/A" || text == "-" || text == "no data";
}

}  // namespace

std::string NcuLaunches::where(size_t line) const { return fmt::format("{}:{}", path_, line); }

Result<void> NcuLaunches::begin(const NcuTable& row) {
  Key key{row.part(), std::string(row.cell(NcuTable::Column::process)), std::string(row.cell(NcuTable::Column::id))};
  const std::string_view name = row.cell(NcuTable::Column::kernel);
  if (open_ && key == key_) {
    if (name != profile_.kernels[launch_.kernel]) {
      return fail(ErrorKind::bad_input,
                  fmt::format("launch {} has two kernel names", printable(std::get<2>(key)).substr(0, 60)),
                  where(row.line()), write_again);
    }
    return {};
  }
  if (auto closed = close(); !closed) {
    return closed;
  }
  if (!seen_.insert(key).second) {
    return fail(ErrorKind::bad_input,
                fmt::format("launch {} is there twice", printable(std::get<2>(key)).substr(0, 60)), where(row.line()),
                "Give one report per file");
  }
  if (profile_.launches.size() >= most_ncu_launches) {
    return fail(ErrorKind::bad_input, fmt::format("holds more than {} launches", most_ncu_launches), where(row.line()),
                "Write fewer kernels: ncu --import FILE --kernel-name regex:NAME --csv");
  }
  if (profile_.kernels.size() >= most_ncu_kernels && !kernels_.contains(name)) {
    return fail(ErrorKind::bad_input, fmt::format("holds more than {} kernel names", most_ncu_kernels),
                where(row.line()), "Write fewer kernels: ncu --import FILE --kernel-name regex:NAME --csv");
  }
  key_ = std::move(key);
  open_ = true;
  launch_ = {};
  launch_.kernel = kernel_index(name);
  launch_.line = row.line();
  launch_.grid = dimensions_of(row.cell(NcuTable::Column::grid));
  launch_.block = dimensions_of(row.cell(NcuTable::Column::block));
  device_ = device_of(row.cell(NcuTable::Column::device), row.cell(NcuTable::Column::cc));
  values_ = {};
  return {};
}

Result<void> NcuLaunches::add(std::string_view name, std::string_view unit, std::string_view text, size_t line) {
  name = trimmed(name);
  if (name == "device__attribute_display_name") {
    device_.name = trimmed(text);
    return {};
  }
  const auto metrics = ncu_metrics();
  const auto metric = std::ranges::find(metrics, name, &NcuMetric::name);
  if (metric == metrics.end() || not_known(text)) {
    return {};
  }
  const auto factor = ncu_unit(unit, metric->dimension);
  if (!factor) {
    // The details page calls a share of the peak "Memory Throughput", too.
    if (metric->figure == NcuFigure::dram_rate && trimmed(unit) == "%") {
      return {};
    }
    return fail(ErrorKind::bad_input,
                fmt::format("{} is in '{}', which is no unit of it", name, printable(unit).substr(0, 40)), where(line),
                write_again);
  }
  const auto number = locale_number(text, decimal_);
  if (!number || !std::isfinite(*number)) {
    return fail(ErrorKind::bad_input, fmt::format("{} is '{}', not a number", name, printable(text).substr(0, 40)),
                where(line), write_again);
  }
  const double value = *number * *factor * metric->factor;
  const bool percent = metric->dimension == NcuDimension::percent;
  if (value < 0 || value > (percent ? most_percent : largest)) {
    return fail(
        ErrorKind::bad_input,
        fmt::format("{} is {} {}, which cannot be", name, printable(text).substr(0, 40), printable(unit).substr(0, 40)),
        where(line), write_again);
  }
  const auto index = static_cast<size_t>(metric - metrics.begin());
  auto& slot = values_[static_cast<size_t>(metric->figure)];
  if (slot && slot->metric == index && slot->value != value) {
    return fail(ErrorKind::bad_input, fmt::format("{} has another value in line {}", name, slot->line), where(line),
                write_again);
  }
  if (!slot || index < slot->metric) {
    slot = Value{value, index, line};
  }
  return {};
}

std::optional<IsolatedValue> NcuLaunches::figure(NcuFigure figure) const {
  const auto& slot = values_[static_cast<size_t>(figure)];
  return slot ? std::optional(IsolatedValue{slot->value, ncu_metrics()[slot->metric].name}) : std::nullopt;
}

Result<void> NcuLaunches::close() {
  if (!open_) {
    return {};
  }
  open_ = false;
  using enum NcuFigure;
  launch_.occupancy_active_percent = figure(occupancy_active);
  launch_.occupancy_elapsed_percent = figure(occupancy_elapsed);
  launch_.occupancy_theoretical_percent = figure(occupancy_theoretical);
  launch_.dram_read_bytes = figure(dram_read);
  launch_.dram_write_bytes = figure(dram_write);
  launch_.dram_bytes = figure(dram_both);
  launch_.dram_peak_percent = figure(dram_peak);
  launch_.cycles = figure(cycles);
  launch_.sm_clock_hz = figure(sm_clock);
  launch_.duration_ns = figure(duration);
  if (launch_.duration_ns) {
    launch_.duration_ns->value *= 1e9;
  }
  // What follows from the others.
  const auto active = figure(active_cycles);
  if (!launch_.occupancy_elapsed_percent && launch_.occupancy_active_percent && active && launch_.cycles &&
      launch_.cycles->value > 0) {
    // Warps × cycles are the same; the denominators differ. A chip's SMs are active for no longer than the launch lasts.
    const double share = std::min(1.0, active->value / launch_.cycles->value);
    launch_.occupancy_elapsed_percent = IsolatedValue{launch_.occupancy_active_percent->value * share,
                                                      "active occupancy × active cycles ÷ elapsed cycles"};
  }
  if (!launch_.dram_bytes && launch_.dram_read_bytes && launch_.dram_write_bytes) {
    launch_.dram_bytes =
        IsolatedValue{launch_.dram_read_bytes->value + launch_.dram_write_bytes->value, "bytes read + bytes written"};
  }
  if (const auto per_second = figure(dram_rate); !launch_.dram_bytes && per_second && launch_.duration_ns) {
    launch_.dram_bytes =
        IsolatedValue{per_second->value * launch_.duration_ns->value / 1e9, "memory throughput × duration"};
  }
  const NcuFigure sizes[] = {grid_x, grid_y, grid_z, block_x, block_y, block_z};
  for (size_t i = 0; i < std::size(sizes); ++i) {
    uint32_t& size = i < 3 ? launch_.grid[i] : launch_.block[i - 3];
    if (const auto written = figure(sizes[i]); size == 0 && written && written->value <= 4294967295.0) {
      size = static_cast<uint32_t>(written->value);
    }
  }
  if (profile_.devices.size() >= most_devices) {
    return fail(ErrorKind::bad_input, fmt::format("names more than {} devices", most_devices), where(launch_.line),
                write_again);
  }
  launch_.device = device_index(device_);
  profile_.launches.push_back(launch_);
  return {};
}

uint32_t NcuLaunches::kernel_index(std::string_view name) {
  const auto known = kernels_.find(name);
  if (known != kernels_.end()) {
    return known->second;
  }
  const auto index = static_cast<uint32_t>(profile_.kernels.size());
  kernels_.emplace(std::string(name), index);
  profile_.kernels.emplace_back(name);
  return index;
}

uint32_t NcuLaunches::device_index(const IsolatedDevice& device) {
  // Few: the last one is nearly always it.
  const auto known = std::find(profile_.devices.rbegin(), profile_.devices.rend(), device);
  if (known != profile_.devices.rend()) {
    return static_cast<uint32_t>(profile_.devices.rend() - known) - 1;
  }
  profile_.devices.push_back(device);
  return static_cast<uint32_t>(profile_.devices.size()) - 1;
}

Result<IsolatedProfile> NcuLaunches::finish() && {
  if (auto closed = close(); !closed) {
    return std::unexpected(closed.error());
  }
  profile_.path = path_;
  profile_.tool = "Nsight Compute";
  return std::move(profile_);
}

}  // namespace kvet::importing
