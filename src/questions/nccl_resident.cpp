// nccl.resident_wait: how long a collective that starts beside K runs without all of its blocks, since K's hold the SMs.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "questions/contexts.h"
#include "questions/counter_pool.h"
#include "questions/distribution.h"
#include "questions/make_finding.h"
#include "questions/nccl_analysis.h"
#include "questions/occupancy_limits_beside.h"
#include "questions/residency.h"

namespace kvet::questions {
namespace {

constexpr const char* id = "nccl.resident_wait";
// A collective counts as wholly resident from so much of its warps on: the readings' error is below 1%.
constexpr double wholly = 0.95;
// It takes more samples than one to see a collective's blocks come.
constexpr double least_samples = 3;

// A collective that began while K ran on its device.
struct Started {
  uint32_t collective, kernel;  // executions; of K the one that ends last
};

std::vector<Started> beside(const Capture& capture, const std::vector<bool>& is_nccl, const KernelSet& kernels) {
  SharingGroups groups(capture);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> last_of_k;  // by device and group, of those begun
  std::vector<Started> out;
  for (uint32_t index = 0; index < capture.executions.size(); ++index) {
    const Execution& execution = capture.executions[index];
    const std::pair key{execution.device.value, groups.of(execution.process, execution.context_id)};
    const auto last = last_of_k.find(key);
    if (kernels.contains(execution.shape)) {
      if (last == last_of_k.end() || capture.executions[last->second].end_ns < execution.end_ns) {
        last_of_k[key] = index;
      }
    } else if (is_nccl[execution.shape.value] && last != last_of_k.end() &&
               capture.executions[last->second].end_ns > execution.start_ns) {
      out.push_back({index, last->second});
    }
  }
  return out;
}

uint64_t blocks_of(const KernelShape& shape) {
  uint64_t blocks = 1;
  for (uint32_t size : shape.grid) {
    if (__builtin_mul_overflow(blocks, uint64_t{size}, &blocks)) {
      return 0;
    }
  }
  return blocks;
}

// When all warps were first seen, by the counters. Empty: not in sight.
std::optional<double> seen_wait(const Execution& collective, const KernelShape& shape, const SmLimits& limits,
                                const DeviceResidency& residency) {
  const double warps = static_cast<double>(blocks_of(shape)) * block_resources(limits, shape).warps;
  const auto first = std::ranges::lower_bound(residency.samples, collective.start_ns, {},
                                              [](const SampleResidency& one) { return one.sample->start_ns; });
  for (auto sample = first; sample != residency.samples.end() && sample->sample->end_ns <= collective.end_ns;
       ++sample) {
    const auto own = std::ranges::find(sample->kernels, shape.id, &ResidentKernel::shape);
    if (!sample->resolved || own == sample->kernels.end()) {
      return std::nullopt;  // until here it cannot be told
    }
    if (warps > 0 && own->warps >= wholly * warps) {
      return sample == first ? 0 : static_cast<double>(sample->sample->start_ns - collective.start_ns);
    }
  }
  return std::nullopt;
}

// By what fits beside K: nothing to wait for, or at the most until K ends.
std::optional<double> modelled_wait(const Capture& capture, const Started& pair, const Device& device,
                                    const SmLimits& limits) {
  const Execution &collective = capture.executions[pair.collective], &kernel = capture.executions[pair.kernel];
  const KernelShape &shape = capture.shapes[collective.shape.value], &other = capture.shapes[kernel.shape.value];
  const auto fits = theoretical(limits, other, device.multiprocessors);
  const uint64_t blocks = blocks_of(shape);
  if (!fits || blocks == 0 || device.multiprocessors == 0 || block_resources(limits, shape).warps == 0) {
    return std::nullopt;
  }
  const uint32_t held = resident_blocks(*fits, other, device.multiprocessors);
  const uint64_t room = uint64_t{fits_beside(limits, shape, other, held).blocks} * device.multiprocessors;
  return room >= blocks ? 0
                        : static_cast<double>(std::min(collective.end_ns, kernel.end_ns)) -
                              static_cast<double>(collective.start_ns);
}

struct Waits {
  std::vector<double> seen, modelled;
  double half_width = 0;  // of those seen: the counters' interval
};

void add_device(Waits& waits, const Capture& capture, const Device& device, const std::vector<Started>& pairs) {
  const auto limits = sm_limits(device);
  if (!limits) {
    return;
  }
  const DeviceSamples samples = device_samples(capture, device.id);
  const bool long_enough =
      samples.interval_ns > 0 && std::ranges::any_of(pairs, [&](const Started& pair) {
        const Execution& one = capture.executions[pair.collective];
        return one.device == device.id && static_cast<double>(one.end_ns) - static_cast<double>(one.start_ns) >
                                              least_samples * samples.interval_ns;
      });
  const DeviceResidency residency = long_enough ? device_residency(capture, device.id, samples) : DeviceResidency{};
  for (const Started& pair : pairs) {
    const Execution& one = capture.executions[pair.collective];
    if (one.device != device.id) {
      continue;
    }
    if (const auto wait = seen_wait(one, capture.shapes[one.shape.value], *limits, residency)) {
      waits.seen.push_back(*wait);
      waits.half_width = std::max(waits.half_width, samples.interval_ns);
    } else if (const auto most = modelled_wait(capture, pair, device, *limits)) {
      waits.modelled.push_back(*most);
    }
  }
}

}  // namespace

void append_resident_wait(std::vector<Finding>& findings, const Capture& capture, const NcclAnalysis& analysis,
                          const KernelSet& kernels) {
  auto missing = [&](const std::string& reason, const std::string& advice) {
    findings.push_back(unavailable(Question::nccl, id, kernels.label, "ns", reason, advice));
  };
  // One rank is enough: nothing of another is needed.
  if (const auto none = no_answer(capture, analysis, kernels);
      none && (!analysis.measured.empty() || analysis.collectives.ranks.empty())) {
    missing(none->first, none->second);
    return;
  }
  const std::vector<Started> pairs = beside(capture, analysis.collectives.shape_is_nccl, kernels);
  if (pairs.empty()) {
    missing("no collective began while this kernel ran on its device", "It is nothing to wait for then");
    return;
  }
  Waits waits;
  for (const Device& device : capture.devices) {
    add_device(waits, capture, device, pairs);
  }
  // What was seen goes before the model, unless it is only a few of many.
  if (!waits.seen.empty() && waits.seen.size() * 2 >= pairs.size()) {
    append_distribution(
        findings,
        {Question::nccl, id, kernels.label, "",
         "From the start of a collective beside this kernel until the counters show all its blocks resident", "ns",
         Evidence::attributed, waits.half_width, 0},
        waits.seen);
  } else if (!waits.modelled.empty()) {
    append_distribution(
        findings,
        {Question::nccl, id, kernels.label, "",
         "At the most, from the start of a collective beside this kernel until all its blocks are resident: 0 where "
         "they fit beside this kernel's, else until it ends (by registers, shared memory, warps and block slots; "
         "counter samples are too few or too coarse to see it)",
         "ns", Evidence::modelled, 0, 0},
        waits.modelled);
  } else {
    missing(
        "neither counters show the collectives' blocks, nor are launch parameters and device known enough for a model",
        "Record with counters, and collectives that last several sampling intervals");
  }
}

}  // namespace kvet::questions
