// What alignment compares: how busy the device was, once as the counters measured it on their own clock and once as the
// executions say on CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <vector>

#include "model/events.h"

namespace kvet::clocks {

// One sample, reduced to what alignment uses. NaN: not known.
struct MeasuredLoad {
  int64_t start_ns = 0, end_ns = 0;  // raw
  float busy = 0;  // share of all SM cycles in which an SM had work, 0 to 1
  float warps = 0;  // warps launched
  float blocks = 0;  // blocks completed
};

// One execution, likewise.
struct ExpectedLoad {
  int64_t start_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC
  float busy = 1;  // share of the SMs that have at least one of its blocks
  float warps_at_start = 0;  // warps of the first wave: they are launched at once
  float warps_later = 0;  // the rest: spread over the execution
  float blocks_at_end = 0;  // blocks of the last wave: they complete at once
  float blocks_earlier = 0;  // the rest: spread over the execution
};

// `multiprocessors` 0: unknown; then busy is left relative to the largest value that a caller finds.
[[nodiscard]] MeasuredLoad measured_load(const Sample& sample, uint32_t multiprocessors);
[[nodiscard]] ExpectedLoad expected_load(const Execution& execution, const KernelShape& shape, const Device& device);

// A function of time that never falls, given by its slopes and jumps: the integral of what the executions do.
class Cumulative {
 public:
  // A constant rate (per ns) over [start, end), and an amount at once; in any order, then finish().
  void add_rate(double start, double end, double rate);
  void add_jump(double time, double amount);
  // `limit`: no rate above this counts (two kernels on one SM keep it no busier than one does).
  void finish(double limit);

  // Its value at `time`. `hint`: where the last answer was found; calls that go forward in time are then cheap.
  [[nodiscard]] double at(double time, size_t& hint) const;
  // The rate at `time`.
  [[nodiscard]] double rate_at(double time, size_t& hint) const;
  [[nodiscard]] bool empty() const { return knots_.empty(); }

 private:
  struct Change {
    double time, rate, jump;
  };
  struct Knot {
    double time, value, rate;  // from this time on: value + rate × (t − time)
  };
  [[nodiscard]] size_t find(double time, size_t hint) const;
  std::vector<Change> changes_;
  std::vector<Knot> knots_;
};

}  // namespace kvet::clocks
