#include "clocks/load.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvet::clocks {
namespace {

constexpr float unknown = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t threads_per_warp = 32;

// Blocks of this shape that fit on one SM at a time, by warps, registers, shared memory and block slots; roughly, since
// here it only says how many warps start at once. The exact rule is the occupancy question's business.
uint32_t blocks_per_multiprocessor(const KernelShape& shape, const Device& device, uint32_t warps_per_block) {
  uint64_t blocks = std::max(1u, device.max_blocks_per_multiprocessor);
  const auto limit = [&](uint64_t available, uint64_t needed) {
    if (available != 0 && needed != 0) {
      blocks = std::min(blocks, available / needed);
    }
  };
  limit(device.max_warps_per_multiprocessor, warps_per_block);
  limit(device.max_registers_per_multiprocessor,
        uint64_t{shape.registers_per_thread} * threads_per_warp * warps_per_block);
  limit(device.max_shared_bytes_per_multiprocessor, uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes);
  return static_cast<uint32_t>(std::max<uint64_t>(1, blocks));
}

uint64_t product(const std::array<uint32_t, 3>& extent) { return uint64_t{extent[0]} * extent[1] * extent[2]; }

}  // namespace

MeasuredLoad measured_load(const Sample& sample, uint32_t multiprocessors) {
  MeasuredLoad load{sample.start_ns, sample.end_ns, unknown, unknown, unknown};
  if (sample.sm_active_cycles && sample.cycles_elapsed && *sample.cycles_elapsed > 0) {
    load.busy = static_cast<float>(*sample.sm_active_cycles / *sample.cycles_elapsed / std::max(1u, multiprocessors));
  }
  if (sample.warps_launched) {
    load.warps = static_cast<float>(*sample.warps_launched);
  }
  if (sample.blocks_completed) {
    load.blocks = static_cast<float>(*sample.blocks_completed);
  }
  return load;
}

ExpectedLoad expected_load(const Execution& execution, const KernelShape& shape, const Device& device) {
  ExpectedLoad load{execution.start_ns, execution.end_ns, 1, 0, 0, 0, 0};
  const uint64_t blocks = product(shape.grid);
  const uint64_t threads = product(shape.block);
  if (blocks == 0 || threads == 0) {
    load.warps_at_start = load.blocks_at_end = unknown;  // imported files may lack the launch shape
    return load;
  }
  const auto warps_per_block = static_cast<uint32_t>((threads + threads_per_warp - 1) / threads_per_warp);
  const uint32_t multiprocessors = device.multiprocessors;
  if (multiprocessors != 0) {
    load.busy = std::min(1.0f, static_cast<float>(blocks) / static_cast<float>(multiprocessors));
  }
  const uint64_t wave = multiprocessors == 0
                            ? blocks
                            : uint64_t{multiprocessors} * blocks_per_multiprocessor(shape, device, warps_per_block);
  const uint64_t at_start = std::min(blocks, wave);
  load.warps_at_start = static_cast<float>(at_start * warps_per_block);
  load.warps_later = static_cast<float>((blocks - at_start) * warps_per_block);
  const uint64_t last_wave = blocks % wave == 0 ? wave : blocks % wave;
  load.blocks_at_end = static_cast<float>(last_wave);
  load.blocks_earlier = static_cast<float>(blocks - last_wave);
  return load;
}

void Cumulative::add_rate(double start, double end, double rate) {
  if (end > start && rate != 0) {
    changes_.push_back({start, rate, 0});
    changes_.push_back({end, -rate, 0});
  }
}

void Cumulative::add_jump(double time, double amount) {
  if (amount != 0) {
    changes_.push_back({time, 0, amount});
  }
}

void Cumulative::finish(double limit) {
  std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
  knots_.clear();
  double value = 0, rate = 0, time = 0;
  for (const Change& change : changes_) {
    if (!knots_.empty()) {
      value += knots_.back().rate * (change.time - time);
    }
    time = change.time;
    value += change.jump;
    rate += change.rate;
    // Sums of opposite rates leave a rest of rounding: below a billionth of the limit it is nothing.
    const double counted = rate < limit * 1e-9 ? 0 : std::min(rate, limit);
    if (!knots_.empty() && knots_.back().time == time) {
      knots_.back().value = value;
      knots_.back().rate = counted;
    } else {
      knots_.push_back({time, value, counted});
    }
  }
  changes_ = {};
}

size_t Cumulative::find(double time, size_t hint) const {
  // Index of the last knot at or before `time`, plus one; 0: before all.
  size_t index = std::min(hint, knots_.size());
  if (index > 0 && knots_[index - 1].time > time) {
    const auto after = std::upper_bound(knots_.begin(), knots_.begin() + static_cast<ptrdiff_t>(index), time,
                                        [](double t, const Knot& knot) { return t < knot.time; });
    return static_cast<size_t>(after - knots_.begin());
  }
  // Short steps forward are walked, long ones searched.
  for (int step = 0; step < 16; ++step) {
    if (index == knots_.size() || knots_[index].time > time) {
      return index;
    }
    ++index;
  }
  const auto after = std::upper_bound(knots_.begin() + static_cast<ptrdiff_t>(index), knots_.end(), time,
                                      [](double t, const Knot& knot) { return t < knot.time; });
  return static_cast<size_t>(after - knots_.begin());
}

double Cumulative::at(double time, size_t& hint) const {
  hint = find(time, hint);
  if (hint == 0) {
    return 0;
  }
  const Knot& knot = knots_[hint - 1];
  return knot.value + knot.rate * (time - knot.time);
}

double Cumulative::rate_at(double time, size_t& hint) const {
  hint = find(time, hint);
  return hint == 0 ? 0 : knots_[hint - 1].rate;
}

}  // namespace kvet::clocks
