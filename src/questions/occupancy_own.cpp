// K's own resident warps beside siblings: samples in which the same executions ran from end to end, split by the resource
// fingerprint (fingerprint.h), per set of launch shapes.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "questions/fingerprint.h"
#include "questions/make_finding.h"
#include "questions/occupancy_parts.h"

namespace kvet::questions {
namespace {

constexpr size_t kernels_at_once = 8;  // more launch shapes in one sample are not split
constexpr size_t running_limit = 1024;  // hardware runs at most 128 kernels; beyond this a capture is not plausible
constexpr uint32_t trusted_shared =
    4096;  // bytes per block: the counter under-reads many small blocks (measured on an H200)
constexpr double resolved_enough = 0.5;

// Everything about one set of launch shapes that ran together.
struct SetSplit {
  explicit SetSplit(FingerprintSplit fingerprint) : split(std::move(fingerprint)) {}
  FingerprintSplit split;
  std::vector<BoundedKernel> kernels;
  bool shared_known = false;
  std::vector<Cluster> own;  // own warps ÷ slots, one cluster per stretch of co-run time
  double time_ns = 0, error = 0, low = 0, high = 0;
};

std::optional<ResourceShares> measured(const Sample& sample, const SmLimits& limits, double sms, bool shared_known) {
  if (!sample.warp_cycles || !sample.register_cycles || !sample.cycles_elapsed || *sample.cycles_elapsed <= 0 ||
      (shared_known && !sample.shared_byte_cycles)) {
    return std::nullopt;
  }
  const double cycles = *sample.cycles_elapsed * sms;
  return ResourceShares{*sample.warp_cycles / cycles / limits.warps,
                        *sample.register_cycles / cycles / limits.registers,
                        shared_known ? *sample.shared_byte_cycles / cycles / limits.shared_bytes : 0};
}

SetSplit make_set(const Capture& capture, const KernelSet& kernels, const SmLimits& limits, double sms,
                  const std::vector<ShapeId>& shapes) {
  std::vector<BoundedKernel> bounded;
  std::vector<SplitKernel> plain;
  bool shared_known = true;
  for (ShapeId id : shapes) {
    const KernelShape& shape = capture.shapes[id.value];
    const BlockResources block = block_resources(limits, shape);
    BoundedKernel kernel;
    kernel.kernel.per_block = {static_cast<double>(block.warps) / limits.warps,
                               static_cast<double>(block.registers()) / limits.registers,
                               static_cast<double>(block.shared_bytes) / limits.shared_bytes};
    kernel.kernel.own = kernels.contains(id);
    shared_known = shared_known && uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes >= trusted_shared;
    if (const auto limit = theoretical(limits, shape, static_cast<uint32_t>(sms))) {
      const double grid = static_cast<double>(shape.grid[0]) * shape.grid[1] * shape.grid[2];
      kernel.most_warps = std::min(limit->occupancy, grid > 0 ? grid / sms * kernel.kernel.per_block.warps : 1.0);
    }
    plain.push_back(kernel.kernel);
    bounded.push_back(kernel);
  }
  SetSplit set{FingerprintSplit{plain, shared_known}};
  set.kernels = std::move(bounded);
  set.shared_known = shared_known;
  return set;
}

// Walks the samples that lie inside co-run time and in which nothing began or ended.
class OwnWarps {
 public:
  OwnWarps(const Capture& capture, const KernelSet& kernels, const DeviceTimeline& timeline,
           const DeviceSamples& samples, const SmLimits& limits)
      : capture_(capture),
        kernels_(kernels),
        timeline_(timeline),
        samples_(samples),
        limits_(limits),
        sms_(capture.devices[timeline.device.value].multiprocessors) {}

  // False where the capture is not plausible.
  bool walk();
  std::map<std::vector<ShapeId>, SetSplit>& sets() { return sets_; }

 private:
  void add(const Sample& sample, size_t stretch, const std::vector<ShapeId>& shapes);

  const Capture& capture_;
  const KernelSet& kernels_;
  const DeviceTimeline& timeline_;
  const DeviceSamples& samples_;
  const SmLimits& limits_;
  double sms_;
  std::map<std::vector<ShapeId>, SetSplit> sets_;
  std::map<std::vector<ShapeId>, size_t> last_stretch_;
};

bool OwnWarps::walk() {
  std::vector<const Execution*> executions;
  for (const Execution& execution : capture_.executions) {
    if (execution.device == timeline_.device && execution.end_ns > execution.start_ns) {
      executions.push_back(&execution);
    }
  }
  std::vector<const Execution*> running;
  size_t next = 0;
  for (const Sample* sample : samples_.samples) {
    const int64_t from = sample->start_ns - *samples_.guard_ns, to = sample->end_ns + *samples_.guard_ns;
    for (; next < executions.size() && executions[next]->start_ns < to; ++next) {
      running.push_back(executions[next]);
    }
    std::erase_if(running, [&](const Execution* execution) { return execution->end_ns <= from; });
    if (running.size() > running_limit) {
      return false;
    }
    const size_t stretch = span_after(timeline_.beside, from);
    if (stretch == timeline_.beside.spans().size()) {
      break;
    }
    if (timeline_.beside.spans()[stretch].from > from || timeline_.beside.spans()[stretch].to < to) {
      continue;
    }
    std::vector<ShapeId> shapes;
    bool steady = true;
    for (const Execution* execution : running) {
      if (execution->start_ns >= to) {
        continue;  // pushed by an earlier, longer sample
      }
      steady = steady && execution->start_ns <= from && execution->end_ns >= to;
      if (std::ranges::find(shapes, execution->shape) == shapes.end()) {
        shapes.push_back(execution->shape);
      }
    }
    if (steady && shapes.size() <= kernels_at_once) {
      std::ranges::sort(shapes);
      add(*sample, stretch, shapes);
    }
  }
  return true;
}

void OwnWarps::add(const Sample& sample, size_t stretch, const std::vector<ShapeId>& shapes) {
  auto found_set = sets_.find(shapes);
  if (found_set == sets_.end()) {
    found_set = sets_.emplace(shapes, make_set(capture_, kernels_, limits_, sms_, shapes)).first;
  }
  SetSplit& set = found_set->second;
  const auto shares = measured(sample, limits_, sms_, set.shared_known);
  if (!shares) {
    return;
  }
  const auto length = static_cast<double>(sample.end_ns - sample.start_ns);
  set.time_ns += length;
  const ShareRange range = share_range(set.kernels, *shares, set.shared_known);
  set.low += range.low * length;
  set.high += range.high * length;
  if (!set.split.system().resolved) {
    return;
  }
  const FingerprintSplit::Share share = set.split.solve(*shares);
  auto [last, added] = last_stretch_.try_emplace(shapes, stretch);
  if (added || last->second != stretch) {
    last->second = stretch;
    set.own.push_back({});
  }
  set.own.back().numerator += share.own * shares->warps * length;
  set.own.back().denominator += length;
  set.error += share.error * shares->warps * length;
}

}  // namespace

void add_own(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
             const std::vector<DeviceTimeline>& devices, const std::vector<DeviceSamples>& samples,
             const std::optional<Estimate>& solo, const std::string& doubt) {
  constexpr const char* id = "occupancy.corun.own";
  auto unknown = [&](const std::string& reason, const std::string& advice) {
    findings.push_back(unavailable(Question::occupancy, id, kernels.label, "%", reason, advice));
    findings.push_back(unavailable(Question::occupancy, "occupancy.retained", kernels.label, "ratio", reason, advice));
  };
  double beside = 0, time = 0, resolved = 0, error = 0, low = 0, high = 0, worst_condition = 0;
  size_t sets = 0, least_rank = 99, unknowns = 0;
  std::vector<Cluster> own;
  for (size_t i = 0; i < devices.size(); ++i) {
    beside += static_cast<double>(devices[i].beside.total());
    const auto limits = sm_limits(capture.devices[devices[i].device.value]);
    if (!samples[i].guard_ns) {
      return unknown(samples[i].reason, samples[i].advice);
    }
    if (!limits || limits->registers == 0 || limits->shared_bytes == 0 || limits->warps == 0 ||
        capture.devices[devices[i].device.value].multiprocessors == 0) {
      return unknown("the limits of this device's SMs are not known", "use a newer kvet, or record with `kvet record`");
    }
    OwnWarps warps{capture, kernels, devices[i], samples[i], *limits};
    if (!warps.walk()) {
      return unknown("more kernels run at once than hardware can", "the capture is not plausible: record again");
    }
    for (auto& [shapes, set] : warps.sets()) {
      time += set.time_ns;
      low += set.low;
      high += set.high;
      sets += set.time_ns > 0 ? 1 : 0;
      const SplitSystem& system = set.split.system();
      if (system.resolved) {
        resolved += set.time_ns;
        error += set.error;
        own.insert(own.end(), set.own.begin(), set.own.end());
        worst_condition = std::max(worst_condition, system.condition);
      } else if (set.time_ns > 0) {
        least_rank = std::min(least_rank, system.rank);
        unknowns = std::max(unknowns, system.unknowns);
      }
    }
  }
  if (beside == 0) {
    return unknown("no sibling ever ran beside it", "see occupancy.solo");
  }
  if (time == 0) {
    return unknown(
        "no sample lies wholly inside co-run time with warps and registers read and nothing beginning or ending in it",
        "record with a shorter --interval");
  }
  const auto estimate = ratio_of_sums(own);
  if (!estimate || resolved < resolved_enough * time) {
    return unknown(
        fmt::format("unresolved: the kernels' resource vectors cannot tell their warps apart (rank {} for up to {} "
                    "kernels); the data allow {:.1f}% to {:.1f}% of the "
                    "warp slots",
                    least_rank == 99 ? 0 : least_rank, unknowns, 100 * low / time, 100 * high / time),
        "give one of the kernels another block size or register count, or record it beside one sibling at a time");
  }
  const double mean_error = error / resolved;
  Finding finding = found(
      Question::occupancy, id, kernels.label, 100 * estimate->value, "%", Evidence::attributed, estimate->clusters,
      fmt::format("Beside siblings its own warps occupy {:.1f}% of the slots (elapsed), split by registers, warps and "
                  "shared memory of {} kernel sets (condition number "
                  "up to {:.1f}; 1% of reading error is {:.1f} points). Split: {:.0f}% of the sampled co-run time.{}",
                  100 * estimate->value, sets, worst_condition, 100 * mean_error, 100 * resolved / time, doubt));
  const double statistical = estimate->interval ? estimate->interval->high - estimate->value : 0;
  const double half = statistical + mean_error;
  finding.interval = scaled({estimate->value - half, estimate->value + half}, 100, 0, 100);
  findings.push_back(std::move(finding));

  if (!solo || solo->value <= 0) {
    findings.push_back(unavailable(Question::occupancy, "occupancy.retained", kernels.label, "ratio",
                                   "its solo occupancy is not known", "see occupancy.solo"));
    return;
  }
  const double ratio = estimate->value / solo->value;
  Finding retained =
      found(Question::occupancy, "occupancy.retained", kernels.label, ratio, "ratio", Evidence::attributed,
            estimate->clusters,
            fmt::format("Beside siblings it keeps {:.2f} of the warps that it has alone (elapsed).", ratio));
  const double solo_half = solo->interval ? solo->interval->high - solo->value : 0;
  const double relative =
      std::sqrt(std::pow(half / std::max(estimate->value, 1e-12), 2) + std::pow(solo_half / solo->value, 2));
  retained.interval = Interval{std::max(0.0, ratio * (1 - relative)), ratio * (1 + relative)};
  findings.push_back(std::move(retained));
}

}  // namespace kvet::questions
