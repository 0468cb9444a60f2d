// Question 1: how many warps did the kernel keep resident on the SMs, alone and beside its siblings?
// The modelled part is in occupancy_model.cpp, slow-down in occupancy_slow_down.cpp, K's own share in occupancy_own.cpp.
#include <fmt/core.h>

#include <algorithm>

#include "questions/counter_pool.h"
#include "questions/counter_split.h"
#include "questions/device_busy.h"
#include "questions/make_finding.h"
#include "questions/occupancy_parts.h"
#include "questions/questions.h"
#include "questions/sm_limits.h"
#include "questions/timeline.h"

namespace kvet::questions {
namespace {

constexpr uint64_t least_pooled_runs = 30;
constexpr double unexplained_worth_saying = 2;  // percent, as questions.md has it

// Times are measured by the executions alone.
void add_times(std::vector<Finding>& findings, const KernelSet& kernels, const std::vector<DeviceTimeline>& devices) {
  double alone = 0, beside = 0, other = 0;
  uint64_t runs = 0, whole = 0, overlapped = 0;
  for (const DeviceTimeline& device : devices) {
    alone += static_cast<double>(device.alone.total());
    beside += static_cast<double>(device.beside.total());
    other += static_cast<double>(device.other_context.total());
    runs += device.runs.size();
    for (const Run& run : device.runs) {
      whole += run.alone_throughout ? 1 : 0;
      overlapped += run.beside_ns > 0 ? 1 : 0;
    }
  }
  const double all = alone + beside + other;
  auto share = [all](double part) { return all > 0 ? 100 * part / all : 0.0; };
  findings.push_back(found(
      Question::occupancy, "occupancy.time.solo", kernels.label, alone, "ns", Evidence::measured, runs,
      fmt::format("It ran alone for {:.3f} ms, {:.1f}% of its time; {} of {} executions were alone from start to end.",
                  alone / 1e6, share(alone), whole, runs)));
  findings.push_back(
      found(Question::occupancy, "occupancy.time.corun", kernels.label, beside, "ns", Evidence::measured, runs,
            fmt::format("Siblings ran beside it for {:.3f} ms, {:.1f}% of its time, in {} of {} executions.",
                        beside / 1e6, share(beside), overlapped, runs)));
  if (other > 0) {
    Finding finding = found(
        Question::occupancy, "occupancy.time.other_context", kernels.label, other, "ns", Evidence::measured, runs,
        fmt::format(
            "For {:.3f} ms, {:.1f}% of its time, a kernel of another context was on the device too: time-sliced, or "
            "another process under MPS. That time counts neither as solo nor as co-run.",
            other / 1e6, share(other)));
    findings.push_back(std::move(finding));
  }
}

// Warps that no execution explains: work that was not recorded, so that every figure per kernel is in doubt.
Finding unexplained_warps(const Capture& capture, const KernelSet& kernels, const std::vector<DeviceTimeline>& devices,
                          const std::vector<DeviceSamples>& samples) {
  constexpr const char* id = "occupancy.unexplained_warps";
  double resident = 0, time = 0;
  uint64_t count = 0;
  std::string reason, advice;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!samples[i].guard_ns) {
      reason = samples[i].reason;
      advice = samples[i].advice;
      continue;
    }
    const SpanSet busy = device_busy(capture, devices[i].device);
    for (const Sample* sample : samples[i].samples) {
      if (!sample->warp_cycles || !sample->cycles_elapsed || *sample->cycles_elapsed <= 0) {
        continue;
      }
      const double length = static_cast<double>(sample->end_ns - sample->start_ns);
      time += length;
      ++count;
      // Half a warp on the whole device, on average, is somebody and not rounding.
      const bool warps = *sample->warp_cycles > 0.5 * *sample->cycles_elapsed;
      if (warps && busy.covered(sample->start_ns - *samples[i].guard_ns, sample->end_ns + *samples[i].guard_ns) == 0) {
        resident += length;
      }
    }
  }
  if (count == 0) {
    return unavailable(Question::occupancy, id, kernels.label, "%",
                       reason.empty() ? "the counter samples hold no warps" : reason,
                       advice.empty() ? "record with --counters pm on a device whose warps can be sampled" : advice);
  }
  const double percent = 100 * resident / time;
  Finding finding = found(
      Question::occupancy, id, kernels.label, percent, "%", Evidence::measured, count,
      fmt::format(
          "In {:.2f}% of the sampled time warps were resident that no recorded execution, copy or memset explains.",
          percent));
  if (percent > unexplained_worth_saying) {
    finding.advice =
        "something runs on this device that the recording does not see (another process, a conditional graph body, a "
        "device-side "
        "launch): figures per kernel may contain it";
  }
  return finding;
}

std::optional<PoolTerm> warp_term(const Sample& sample, double wanted_ns, double slots, double multiprocessors,
                                  bool active) {
  if (!sample.warp_cycles || slots <= 0) {
    return std::nullopt;
  }
  if (active) {
    return sample.sm_active_cycles
               ? std::optional<PoolTerm>{{*sample.warp_cycles, *sample.sm_active_cycles * slots / multiprocessors}}
               : std::nullopt;
  }
  const double length = static_cast<double>(sample.end_ns - sample.start_ns);
  return sample.cycles_elapsed
             ? std::optional<PoolTerm>{{*sample.warp_cycles, *sample.cycles_elapsed * wanted_ns / length * slots}}
             : std::nullopt;
}

Finding from_estimate(const char* id, const KernelSet& kernels, const Estimate& estimate, Evidence evidence,
                      std::string sentence) {
  Finding finding = found(Question::occupancy, id, kernels.label, 100 * estimate.value, "%", evidence,
                          estimate.clusters, std::move(sentence));
  if (estimate.interval) {
    finding.interval = scaled(*estimate.interval, 100, 0, 100);
  }
  return finding;
}

// Gives back the elapsed figure, where it is known.
std::optional<Estimate> add_solo(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                                 const std::vector<DeviceTimeline>& devices, const std::vector<DeviceSamples>& samples,
                                 const std::string& doubt) {
  std::optional<Estimate> elapsed;
  uint64_t whole = 0;
  double whole_ns = 0, interval_ns = 0;
  std::string reason, advice;
  for (size_t i = 0; i < devices.size(); ++i) {
    for (const Run& run : devices[i].runs) {
      if (run.alone_throughout) {
        ++whole;
        whole_ns += static_cast<double>(run.to_ns - run.from_ns);
      }
    }
    interval_ns = std::max(interval_ns, samples[i].interval_ns);
    if (!samples[i].guard_ns) {
      reason = samples[i].reason;
      advice = samples[i].advice;
    }
  }
  const bool is_short = whole > 0 && whole_ns / static_cast<double>(whole) < 3 * interval_ns;
  const std::string pooled = is_short ? fmt::format(
                                            " Each execution is shorter than three sampling intervals ({:.1f} us), so "
                                            "the figure exists only for many "
                                            "executions together.",
                                            interval_ns / 1e3)
                                      : "";
  for (bool active : {false, true}) {
    const char* id = active ? "occupancy.solo.active" : "occupancy.solo";
    const char* which =
        active ? "while an SM is active (ncu's achieved occupancy)" : "over all cycles of all SMs (elapsed)";
    std::vector<Cluster> clusters;
    for (size_t i = 0; i < devices.size(); ++i) {
      const Device& device = capture.devices[devices[i].device.value];
      const double slots = warp_slots(device), sms = device.multiprocessors;
      const SpanSet forbidden = difference(devices[i].kernels, devices[i].whole);
      const auto more = pool_exclusive(samples[i], devices[i].whole, forbidden, [&](const Sample& sample, double ns) {
        return warp_term(sample, ns, slots, sms, active);
      });
      clusters.insert(clusters.end(), more.begin(), more.end());
    }
    const auto estimate = ratio_of_sums(clusters);
    if (estimate && (!is_short || clusters.size() >= least_pooled_runs)) {
      findings.push_back(from_estimate(
          id, kernels, *estimate, Evidence::measured,
          fmt::format("Alone it keeps {:.1f}% of the warp slots occupied {}, in {} stretches of solo executions.{}{}",
                      100 * estimate->value, which, estimate->clusters, pooled, doubt)));
      if (!active) {
        elapsed = estimate;
      }
      continue;
    }
    if (active) {  // cycles of an SM that K shares with a neighbour in the same sample are nobody's
      findings.push_back(unavailable(Question::occupancy, id, kernels.label, "%",
                                     reason.empty() ? "no sample reads this kernel by itself" : reason,
                                     advice.empty() ? "record with a shorter --interval" : advice));
      continue;
    }
    // Samples are longer than the gaps: split them between the kernels that followed each other in them.
    std::optional<Estimate> split;
    for (size_t i = 0; i < devices.size() && !split; ++i) {
      const Device& device = capture.devices[devices[i].device.value];
      const double slots = warp_slots(device);
      split = split_rate(
          capture, kernels, devices[i], samples[i], SpanSet{}, [&](const Sample& sample) -> std::optional<double> {
            if (!sample.warp_cycles || !sample.cycles_elapsed || *sample.cycles_elapsed <= 0 || slots <= 0) {
              return std::nullopt;
            }
            return *sample.warp_cycles / *sample.cycles_elapsed / slots *
                   static_cast<double>(sample.end_ns - sample.start_ns);
          });
    }
    if (split) {
      findings.push_back(
          from_estimate(id, kernels, *split, Evidence::attributed,
                        fmt::format("Alone it keeps {:.1f}% of the warp slots occupied over all cycles of all SMs "
                                    "(elapsed): {} samples, each "
                                    "split by time between the kernels that followed one another in it.{}{}",
                                    100 * split->value, split->clusters, pooled, doubt)));
      elapsed = split;
    } else if (!reason.empty()) {
      findings.push_back(unavailable(Question::occupancy, id, kernels.label, "%", reason, advice));
    } else if (whole == 0) {
      findings.push_back(unavailable(Question::occupancy, id, kernels.label, "%",
                                     "no execution was alone from start to end",
                                     "record it once more without the other streams, or see its co-run figures"));
    } else {
      findings.push_back(unavailable(
          Question::occupancy, id, kernels.label, "%",
          fmt::format("too few samples read this kernel by itself ({} solo executions, sampling interval {:.1f} us)",
                      whole, interval_ns / 1e3),
          "record longer, or with a shorter --interval"));
    }
  }
  return elapsed;
}

// Heads and tails of executions that siblings overlapped: how busy the SMs are before the sibling came and after it left.
void add_solo_parts(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                    const std::vector<DeviceTimeline>& devices, const std::vector<DeviceSamples>& samples) {
  std::vector<Cluster> clusters;
  double time = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    const Device& device = capture.devices[devices[i].device.value];
    const SpanSet parts = difference(devices[i].undisturbed, devices[i].whole);
    time += static_cast<double>(parts.total());
    const auto more = pool_inside(samples[i], parts, [&](const Sample& sample, double ns) {
      return warp_term(sample, ns, warp_slots(device), device.multiprocessors, false);
    });
    clusters.insert(clusters.end(), more.begin(), more.end());
  }
  if (const auto estimate = ratio_of_sums(clusters)) {
    findings.push_back(from_estimate("occupancy.solo.parts", kernels, *estimate, Evidence::measured,
                                     fmt::format("In the solo heads and tails of overlapped executions ({:.3f} ms) "
                                                 "{:.1f}% of the warp slots are occupied (elapsed).",
                                                 time / 1e6, 100 * estimate->value)));
  }
}

void add_corun_device(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                      const std::vector<DeviceTimeline>& devices, const std::vector<DeviceSamples>& samples,
                      const std::string& doubt) {
  constexpr const char* id = "occupancy.corun.device";
  std::vector<Cluster> inside, weighted;
  double time = 0;
  std::string reason, advice;
  for (size_t i = 0; i < devices.size(); ++i) {
    const Device& device = capture.devices[devices[i].device.value];
    const double slots = warp_slots(device), sms = device.multiprocessors;
    time += static_cast<double>(devices[i].beside.total());
    if (!samples[i].guard_ns) {
      reason = samples[i].reason;
      advice = samples[i].advice;
      continue;
    }
    const auto more = pool_inside(samples[i], devices[i].beside, [&](const Sample& sample, double ns) {
      return warp_term(sample, ns, slots, sms, false);
    });
    inside.insert(inside.end(), more.begin(), more.end());
    for (const Sample* sample : samples[i].samples) {
      const double length = static_cast<double>(sample->end_ns - sample->start_ns);
      const double part = static_cast<double>(devices[i].beside.covered(sample->start_ns, sample->end_ns)) / length;
      if (part >= 0.5) {
        if (const auto term = warp_term(*sample, length, slots, sms, false)) {
          weighted.push_back({part * term->numerator, part * term->denominator});
        }
      }
    }
  }
  if (time == 0) {
    findings.push_back(unavailable(Question::occupancy, id, kernels.label, "%", "no sibling ever ran beside it",
                                   "see occupancy.solo"));
  } else if (const auto estimate = ratio_of_sums(inside)) {
    findings.push_back(
        from_estimate(id, kernels, *estimate, Evidence::measured,
                      fmt::format("Beside siblings, everybody together occupies {:.1f}% of the warp slots (elapsed).{}",
                                  100 * estimate->value, doubt)));
  } else if (const auto rough = ratio_of_sums(weighted)) {
    findings.push_back(
        from_estimate(id, kernels, *rough, Evidence::attributed,
                      fmt::format("Beside siblings, everybody together occupies about {:.1f}% of the warp slots "
                                  "(elapsed): no sample lies wholly inside "
                                  "co-run time, so samples that are mostly inside count by their overlap.{}",
                                  100 * rough->value, doubt)));
  } else {
    findings.push_back(unavailable(Question::occupancy, id, kernels.label, "%",
                                   reason.empty() ? "co-run times are shorter than half a sampling interval" : reason,
                                   advice.empty() ? "record longer, or with a shorter --interval" : advice));
  }
}

}  // namespace

std::vector<Finding> occupancy(const Capture& capture, const KernelSet& kernels) {
  std::vector<Finding> findings;
  const std::vector<DeviceTimeline> devices = timelines(capture, kernels);
  if (devices.empty()) {
    const bool any = !capture.executions.empty();
    const std::string reason =
        any ? "the kernel did not run in this part of the capture" : "this capture holds no executions";
    const std::string advice =
        any ? "choose another window or pattern" : "record with `kvet record -- CMD`: the device tier sees executions";
    for (const char* id : {"occupancy.theoretical", "occupancy.solo", "occupancy.corun.device", "occupancy.corun.own",
                           "occupancy.retained"}) {
      findings.push_back(unavailable(Question::occupancy, id, kernels.label,
                                     id == std::string_view{"occupancy.retained"} ? "ratio" : "%", reason, advice));
    }
    return findings;
  }
  std::vector<DeviceSamples> samples;
  samples.reserve(devices.size());
  for (const DeviceTimeline& device : devices) {
    samples.push_back(device_samples(capture, device.device));
  }
  add_modelled(findings, capture, kernels, devices);
  add_times(findings, kernels, devices);
  Finding unexplained = unexplained_warps(capture, kernels, devices, samples);
  const std::string doubt =
      unexplained.value.value_or(0) > unexplained_worth_saying
          ? fmt::format(
                " In {:.1f}% of the sampled time warps of unrecorded work were resident: it may be in this figure.",
                *unexplained.value)
          : "";
  const std::optional<Estimate> solo = add_solo(findings, capture, kernels, devices, samples, doubt);
  add_solo_parts(findings, capture, kernels, devices, samples);
  add_corun_device(findings, capture, kernels, devices, samples, doubt);
  add_own(findings, capture, kernels, devices, samples, solo, doubt);
  add_slow_down(findings, capture, kernels, devices);
  findings.push_back(std::move(unexplained));
  return only_finite(std::move(findings));
}

}  // namespace kvet::questions
