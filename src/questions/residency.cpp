// The sweep over samples and executions: which shapes ran in each sample, in which boxes; then the linear problem of each
// sample is solved, in passes (residency.h).
#include "questions/residency.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/quadrature.h"
#include "questions/residency_flows.h"
#include "questions/residency_range.h"
#include "questions/residency_sets.h"
#include "questions/residency_system.h"
#include "questions/residency_vectors.h"

namespace kvet::questions {
namespace {

constexpr size_t running_limit = 1024;  // hardware runs at most 128 kernels; beyond this a capture is not plausible
constexpr size_t ranged_one_by_one = 12;  // with more launch shapes in a sample, each one's range is only its box
constexpr size_t segments_looked_at = 64;
constexpr double resolved_error = 0.01;  // of the warp slots
constexpr double alive_worth_saying = 0.98;
constexpr double alive_noise = 0.006;  // of a ratio of two readings, with room
constexpr int passes = 3;

struct Present {
  ShapeId shape;
  double cover = 0, widest_cover = 0;  // parts of the sample that its executions overlap; with the guard on both sides
  double high = 0, low = 0;
};

class Sweep {
 public:
  Sweep(const Capture& capture, DeviceId device, const DeviceSamples& samples, const SmLimits& limits,
        const KernelSet* own)
      : samples_(samples),
        guard_(*samples.guard_ns),
        own_(own),
        vectors_(capture, limits, capture.devices[device.value].multiprocessors),
        flows_(executions_, vectors_, guard_) {
    for (const Execution& execution : capture.executions) {
      if (execution.device == device && execution.end_ns > execution.start_ns) {
        executions_.push_back(&execution);
      }
    }
  }

  DeviceResidency run();

 private:
  // Calls body(sample, readings) for each sample in which a kernel ran, with present_ and whole_ set. False: not plausible.
  template <class Body>
  bool each_sample(Body body);
  void find_present(const Sample& sample);
  size_t longest_set(const Sample& sample);
  void learn_alive();
  void estimate(size_t index, const Sample& sample, const Readings& readings);
  void give(size_t index, const Sample& sample, const Readings& readings, DeviceResidency& result);
  void make_unknowns(size_t set, const Readings& readings);

  const DeviceSamples& samples_;
  const int64_t guard_;
  const KernelSet* own_;
  ShapeVectors vectors_;
  SiblingSets sets_;
  std::vector<const Execution*> executions_, running_;
  FlowBounds flows_;
  std::vector<Present> present_;
  bool whole_ = false;
  bool by_flows_ = false;  // conservation narrowed a box by a tenth or more
  bool registers_ = false, shared_ = false;  // some sample has them
  std::vector<uint32_t> set_of_;  // by number of the sample
  std::vector<Unknown> unknowns_;
  SampleSystem system_;
  SampleRange range_;
};

template <class Body>
bool Sweep::each_sample(Body body) {
  running_.clear();
  flows_.restart();
  size_t next = 0, index = 0;
  for (const Sample* sample : samples_.samples) {
    const int64_t from = sample->start_ns - guard_, to = sample->end_ns + guard_;
    for (; next < executions_.size() && executions_[next]->start_ns < to; ++next) {
      running_.push_back(executions_[next]);
    }
    std::erase_if(running_, [&](const Execution* execution) { return execution->end_ns <= from; });
    if (running_.size() > running_limit) {
      return false;
    }
    flows_.advance(*sample);
    const auto readings = running_.empty() ? std::nullopt : vectors_.readings(*sample);
    if (!readings) {
      continue;
    }
    find_present(*sample);
    if (!present_.empty()) {
      body(index++, *sample, *readings);
    }
  }
  return true;
}

void Sweep::find_present(const Sample& sample) {
  const int64_t from = sample.start_ns - guard_, to = sample.end_ns + guard_;
  const auto length = static_cast<double>(sample.end_ns - sample.start_ns);
  present_.clear();
  whole_ = true;
  by_flows_ = false;
  for (const Execution* execution : running_) {
    if (execution->start_ns >= to) {
      continue;  // came with an earlier, longer sample
    }
    whole_ = whole_ && execution->start_ns <= from && execution->end_ns >= to;
    auto overlap = [&](int64_t guard) {
      const int64_t part =
          std::min(execution->end_ns + guard, sample.end_ns) - std::max(execution->start_ns - guard, sample.start_ns);
      return std::clamp(static_cast<double>(part) / length, 0.0, 1.0);
    };
    auto at = std::ranges::lower_bound(present_, execution->shape, {}, &Present::shape);
    if (at == present_.end() || at->shape != execution->shape) {
      at = present_.insert(at, Present{execution->shape});
    }
    const ShapeVector& vector = vectors_.of(execution->shape);
    const double cover = overlap(guard_);
    at->cover += overlap(0);
    at->widest_cover += cover;
    // With nothing else known: all that fit.
    const double fits = std::min(vector.most, vector.grid);
    const FlowBounds::Blocks blocks = flows_.of(*execution);
    const double conserved = std::min(fits, blocks.high * vector.block);
    at->high += cover * conserved;
    if (execution->start_ns <= from && execution->end_ns >= to) {
      at->low += std::min(blocks.low * vector.block, conserved);
    }
    by_flows_ = by_flows_ || conserved < 0.9 * fits || at->low > 0.1 * fits;
  }
  for (Present& each : present_) {
    const double most = vectors_.of(each.shape).most;
    each.high = std::min(each.high, most * std::min(1.0, each.widest_cover));
    each.low = std::min(each.low, each.high);
    each.cover = std::min(1.0, each.cover);
  }
}

// The shapes that ran in the longest piece of the sample between two starts or ends.
size_t Sweep::longest_set(const Sample& sample) {
  std::vector<ShapeId> shapes;
  if (whole_ || present_.size() == 1) {
    for (const Present& each : present_) {
      shapes.push_back(each.shape);
    }
    return sets_.index_of(shapes);
  }
  std::vector<int64_t> edges{sample.start_ns, sample.end_ns};
  if (running_.size() <= segments_looked_at) {
    for (const Execution* execution : running_) {
      edges.push_back(std::clamp(execution->start_ns, sample.start_ns, sample.end_ns));
      edges.push_back(std::clamp(execution->end_ns, sample.start_ns, sample.end_ns));
    }
    std::ranges::sort(edges);
  }
  int64_t longest = 0;
  std::vector<ShapeId> here;
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    const int64_t length = edges[i + 1] - edges[i], middle = edges[i] + length / 2;
    if (length <= longest && !shapes.empty()) {
      continue;
    }
    here.clear();
    for (const Execution* execution : running_) {
      if (execution->start_ns <= middle && execution->end_ns > middle) {
        here.push_back(execution->shape);
      }
    }
    if (!here.empty()) {
      std::ranges::sort(here);
      here.erase(std::unique(here.begin(), here.end()), here.end());
      shapes = here;
      longest = length;
    }
  }
  if (shapes.empty()) {  // only the guard reaches a kernel
    shapes.push_back(present_.front().shape);
  }
  return sets_.index_of(shapes);
}

// Where a shape runs alone, registers count its blocks and warps its warps: fewer warps than the blocks hold have exited early.
void Sweep::learn_alive() {
  struct Sum {
    double warps = 0, blocks = 0, squares = 0;  // squares: of the warps, each ÷ its blocks
  };
  std::unordered_map<ShapeId, Sum> sums;
  each_sample([&](size_t, const Sample&, const Readings& readings) {
    registers_ = registers_ || readings.registers;
    shared_ = shared_ || readings.shared;
    const ShapeVector& vector = vectors_.of(present_.front().shape);
    if (present_.size() == 1 && whole_ && readings.registers && vector.known && vector.registers > 0) {
      Sum& sum = sums[present_.front().shape];
      sum.warps += readings.warps;
      const double blocks = *readings.registers / vector.registers;
      sum.blocks += blocks;
      sum.squares += blocks > 0 ? readings.warps * readings.warps / blocks : 0;
    }
  });
  for (const auto& [shape, sum] : sums) {
    if (sum.blocks > 0 && sum.warps < alive_worth_saying * sum.blocks) {
      // Weighted by the blocks: Σ n·(w ÷ n − mean)² ÷ Σ n. Beside siblings ages may differ more than alone.
      const double alive = sum.warps / sum.blocks;
      const double variance = std::max(0.0, sum.squares / sum.blocks - alive * alive);
      vectors_.set_alive(shape, alive, std::sqrt(std::max(0.0, variance - alive_noise * alive_noise)));
    }
  }
}

// What a kernel would hold if it held all that was read.
double all_of_it(const ShapeVector& vector, const Readings& readings) {
  auto most = [](double reading) { return reading * (1 + range_tolerance) + 10 * reading_floor; };
  double high = std::numeric_limits<double>::infinity();
  if (vector.known && readings.registers && vector.registers > 0) {
    high = std::min(high, most(*readings.registers) / vector.registers);
  }
  if (vector.known && readings.shared && vector.shared > 0 && !vector.small_shared) {
    high = std::min(high, most(*readings.shared) / vector.shared);
  }
  return high;
}

void Sweep::make_unknowns(size_t set, const Readings& readings) {
  unknowns_.clear();
  double all = 0;
  for (const Present& each : present_) {
    Unknown unknown;
    unknown.vector = &vectors_.of(each.shape);
    unknown.low = each.low;
    unknown.high = std::max(each.high, each.low);
    unknown.high = std::max(unknown.low, std::min(unknown.high, all_of_it(*unknown.vector, readings)));
    unknown.own = own_ != nullptr && own_->contains(each.shape);
    unknown.prior = sets_.rate(set, each.shape) * each.cover;
    all += unknown.vector->alive * unknown.high;
    unknowns_.push_back(unknown);
  }
  for (Unknown& unknown : unknowns_) {
    if (unknown.prior < 0) {  // nothing is known yet: each as full as the device
      unknown.prior = all > 0 ? unknown.high * std::min(1.0, readings.warps / all) : 0;
    }
  }
}

void Sweep::estimate(size_t index, const Sample& sample, const Readings& readings) {
  if (index == set_of_.size()) {
    set_of_.push_back(static_cast<uint32_t>(longest_set(sample)));
  }
  const size_t set = set_of_[index];
  make_unknowns(set, readings);
  system_.solve(unknowns_, readings);
  const auto length = static_cast<double>(sample.end_ns - sample.start_ns);
  for (size_t k = 0; k < present_.size(); ++k) {
    sets_.add_to_rate(set, present_[k].shape, system_.values()[k] * length, present_[k].cover * length);
  }
}

void Sweep::give(size_t index, const Sample& sample, const Readings& readings, DeviceResidency& result) {
  estimate(index, sample, readings);
  SampleResidency residency;
  residency.sample = &sample;
  residency.whole = whole_;
  residency.set = set_of_[index];
  const double slots = vectors_.slots();
  Estimated own = system_.own();
  double sum = 0, worst = 0;
  std::vector<Estimated> each(present_.size());
  for (size_t k = 0; k < present_.size(); ++k) {
    each[k] = system_.of(k);
    sum += each[k].value;
    worst = std::max(worst, each[k].prior_error);
  }
  double missing = readings.warps - sum;
  double tolerance = range_tolerance * readings.warps + 10 * reading_floor;
  for (size_t k = 0; k < present_.size(); ++k) {
    tolerance += early_exit_doubt(*unknowns_[k].vector) * system_.values()[k];
  }
  const bool fits = std::abs(missing) <= tolerance;
  if (fits) {
    // Registers and shared memory say how many blocks there are; that their warps are more or fewer than usual is the blocks' age.
    const double alike = reading_error * readings.warps + reading_floor;
    double all = alike * alike;
    auto ages = [&](size_t k) {
      return unknowns_[k].vector->alive < 1
                 ? std::pow(std::max(least_alive_error, unknowns_[k].vector->alive_spread) * system_.values()[k], 2)
                 : 0.0;
    };
    for (size_t k = 0; k < present_.size(); ++k) {
      all += ages(k);
    }
    const double to_share = missing;
    for (size_t k = 0; k < present_.size(); ++k) {
      const double more =
          std::clamp(each[k].value + to_share * ages(k) / all, 0.0, system_.values()[k]) - each[k].value;
      if (ages(k) > 0) {
        each[k].value += more;
        own.value += unknowns_[k].own ? more : 0;
        sum += more;
        missing -= more;
      }
    }
  }
  residency.unexplained = missing > tolerance ? missing * slots : 0;
  const double scale = missing > tolerance || sum <= 0 ? 1 : readings.warps / sum;
  residency.resolved = fits && worst <= resolved_error;
  residency.own.resolved = fits && own.prior_error <= resolved_error;

  const bool any_open = !residency.resolved || !residency.own.resolved;
  const bool feasible = any_open && range_.prepare(unknowns_, readings);
  const bool one_by_one = feasible && present_.size() <= ranged_one_by_one;
  // Warps that exited before their block are missing from somebody.
  const double exited = std::max(0.0, -missing - tolerance);
  std::vector<double> weight(present_.size());
  auto ages_of = [&](size_t k) { return early_exit_doubt(*unknowns_[k].vector) * system_.values()[k]; };
  auto range_of = [&](const Estimated& estimated, bool ranged, double box_low, double box_high, double ages) {
    ShareRange range{std::max(0.0, box_low), std::min(box_high, readings.warps + tolerance)};
    if (!any_open) {
      const double width = 3.3 * in_quadrature(estimated.prior_error, estimated.reading_error) + tolerance / 10;
      range = {std::max(range.low, estimated.value - width), std::min(range.high, estimated.value + width)};
    } else if (ranged) {
      range = range_.of(weight);
    }
    range.low = std::max(0.0, std::min(range.low - exited - ages, estimated.value * scale));
    range.high = std::max(range.high + ages, estimated.value * scale);
    return range;
  };
  for (size_t k = 0; k < present_.size(); ++k) {
    std::ranges::fill(weight, 0.0);
    const double alive = unknowns_[k].vector->alive;
    weight[k] = alive;
    const ShareRange range =
        range_of(each[k], one_by_one, alive * unknowns_[k].low, alive * unknowns_[k].high, ages_of(k));
    result.kernels.push_back({present_[k].shape, each[k].value * scale * slots, range.low * slots, range.high * slots});
  }
  double own_low = 0, own_high = 0, own_ages = 0;
  for (size_t k = 0; k < present_.size(); ++k) {
    weight[k] = unknowns_[k].own ? unknowns_[k].vector->alive : 0;
    own_low += weight[k] * unknowns_[k].low;
    own_high += weight[k] * unknowns_[k].high;
    own_ages += unknowns_[k].own ? ages_of(k) : 0;
  }
  if (own_high > 0) {
    const ShareRange range = range_of(own, feasible, own_low, own_high, own_ages);
    residency.own.warps = own.value * scale * slots;
    residency.own.low = range.low * slots;
    residency.own.high = range.high * slots;
    residency.own.prior_error = own.prior_error * slots;
    residency.own.reading_error = own.reading_error * slots;
  }
  sets_.add_time(residency.set, static_cast<double>(sample.end_ns - sample.start_ns), residency.resolved, by_flows_);
  result.samples.push_back(residency);
}

DeviceResidency Sweep::run() {
  DeviceResidency result;
  learn_alive();
  for (int pass = 0; pass + 1 < passes; ++pass) {
    if (!each_sample(
            [&](size_t index, const Sample& sample, const Readings& readings) { estimate(index, sample, readings); })) {
      result.reason = "more kernels run at once than hardware can";
      result.advice = "the capture is not plausible: record again";
      return result;
    }
    sets_.next_pass();
  }
  std::vector<size_t> first;
  each_sample([&](size_t index, const Sample& sample, const Readings& readings) {
    first.push_back(result.kernels.size());
    give(index, sample, readings, result);
  });
  first.push_back(result.kernels.size());
  for (size_t i = 0; i < result.samples.size(); ++i) {
    result.samples[i].kernels = std::span{result.kernels}.subspan(first[i], first[i + 1] - first[i]);
  }
  result.sets = sets_.finish(vectors_, registers_, shared_);
  for (const SiblingSet& set : result.sets) {
    for (ShapeId shape : set.shapes) {
      if (vectors_.of(shape).alive < 1) {
        result.early_exits.push_back(shape);
      }
    }
  }
  std::ranges::sort(result.early_exits);
  result.early_exits.erase(std::unique(result.early_exits.begin(), result.early_exits.end()), result.early_exits.end());
  if (result.samples.empty()) {
    result.reason = "no counter sample holds resident warps while a kernel runs";
    result.advice = "record with --counters pm on a device whose warps can be sampled";
  }
  return result;
}

}  // namespace

DeviceResidency device_residency(const Capture& capture, DeviceId device, const DeviceSamples& samples,
                                 const KernelSet* own) {
  DeviceResidency result;
  if (!samples.guard_ns) {
    result.reason = samples.reason;
    result.advice = samples.advice;
    return result;
  }
  const auto limits = sm_limits(capture.devices[device.value]);
  if (!limits || limits->registers == 0 || limits->shared_bytes == 0 || limits->warps == 0 ||
      capture.devices[device.value].multiprocessors == 0) {
    result.reason = "the limits of this device's SMs are not known";
    result.advice = "use a newer kvet, or record with `kvet record`";
    return result;
  }
  return Sweep{capture, device, samples, *limits, own}.run();
}

}  // namespace kvet::questions
