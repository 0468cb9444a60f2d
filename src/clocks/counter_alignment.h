// Puts the samples of the hardware counters on CLOCK_MONOTONIC. Their own clock sits some hundred µs beside it and drifts
// (on an H200: 250 µs, 2.8 µs/s), so the moments at which the SMs become busy and idle in the samples are matched with
// the starts and ends of executions; where the device is always busy, the warps launched per sample with the warps of the
// executions that start in it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "clocks/load.h"
#include "clocks/robust.h"
#include "model/events.h"

namespace kvet::clocks {

struct AlignmentOptions {
  int64_t coarse_offset_ns = 0;  // CLOCK_MONOTONIC − raw, as known before (the sampler brackets it)
  int64_t search_ns = 3'000'000;  // how far off that may be
  int64_t window_ns = 500'000'000;  // length of one stretch that is compared as a whole
  size_t windows_limit = 36;  // stretches kept; a longer recording keeps groups of three, ever further apart
  size_t samples_limit = 8'000;  // per stretch: beyond one of these limits
  size_t executions_limit = 30'000;  // the stretch is cut in half
};

// By what samples and executions were matched.
enum class AlignedBy : uint8_t {
  edges,  // moments at which the device went from idle to busy or back
  flows,  // warps launched and blocks completed, in stretches of a busy device
  load,  // the load as a whole, in such stretches
};

struct Alignment {
  std::vector<ClockMapping> mappings;  // by from_ns, at least one; each with its residuals and, where known, biases
  AlignedBy by = AlignedBy::edges;
  size_t matches = 0;  // edges or stretches that the mappings were laid through
  int64_t residual_ns = 0, residual_p95_ns = 0;  // median and 95th percentile of their distance from the mappings
  double drift_ns_per_s = 0;  // of CLOCK_MONOTONIC against the raw clock, over all
  // Half of how much shorter kernels are in samples than in executions; the mappings put it evenly to both ends. Empty: not
  // known, and the mappings put nothing to the starts (`starts`) or ends that they were laid through.
  std::optional<int64_t> half_bias_ns;
  bool starts = true;
};

// Where the offset must lie, as it is known from elsewhere (pulses): CLOCK_MONOTONIC − raw at raw times, interpolated.
struct Expectation {
  std::vector<Point> offsets;  // x: raw_ns − raw_origin_ns, y: offset − offset_origin_ns; by x, at least one
  int64_t raw_origin_ns = 0, offset_origin_ns = 0;
  double reach_ns = 0;  // how far beside it
};

// Gathers what alignment needs of one device while a recording runs, in bounded memory: at most windows_limit stretches
// of up to window_ns × (32 bytes per sample + 40 bytes per execution); about 10 MB at 10,000 of each per second.
class CounterAlignment {
 public:
  CounterAlignment(DeviceId device, const AlignmentOptions& options) : device_(device), options_(options) {}

  void add(const MeasuredLoad& sample);
  void add(const ExpectedLoad& execution);
  [[nodiscard]] bool has_samples() const { return has_samples_; }
  [[nodiscard]] bool has_executions() const { return has_executions_; }

  // Errors are unavailable: `what` says why the clocks could not be aligned. With an expectation only offsets near it are
  // considered: this tells the periods of a workload apart that repeats.
  [[nodiscard]] Result<Alignment> align(const Expectation* expectation = nullptr) const;

 private:
  struct Window {
    int64_t to_ns = 0;  // cut off when there are too many executions
    std::vector<MeasuredLoad> samples;
    std::vector<ExpectedLoad> executions;
  };
  [[nodiscard]] bool wanted(int64_t index) const;
  Window* window(int64_t index);
  void see(int64_t index);
  void cut(int64_t index, Window& window);
  void thin();

  DeviceId device_;
  AlignmentOptions options_;
  std::map<int64_t, Window> windows_;  // by CLOCK_MONOTONIC ÷ window_ns
  std::optional<int64_t> first_;
  int64_t latest_ = INT64_MIN / 2;  // stretch of the newest sample
  int64_t stride_ = 1;
  bool has_samples_ = false, has_executions_ = false;
};

// The same at once, for events that are in memory: raw samples, executions on CLOCK_MONOTONIC. `shapes` by ShapeId.
[[nodiscard]] Result<Alignment> align_counters(std::span<const Sample> raw, std::span<const Execution> mapped,
                                               std::span<const KernelShape> shapes, const Device& device,
                                               const AlignmentOptions& options);

}  // namespace kvet::clocks
