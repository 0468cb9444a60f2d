// Under which conditions K ran: what a reader must know of the device in K's time before comparing K's figures.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "model/facts.h"
#include "questions/make_finding.h"
#include "questions/quality_parts.h"
#include "questions/questions.h"
#include "questions/spans.h"
#include "questions/timeline.h"

namespace kvet::questions {
namespace {

constexpr double clock_changed = 0.02;  // the margin in which a verdict calls two times equal

struct OnDevice {
  const DeviceTimeline* timeline;
  SpanSet time;  // K's
};

std::vector<OnDevice> times_of(const std::vector<DeviceTimeline>& timelines) {
  std::vector<OnDevice> all;
  for (const DeviceTimeline& timeline : timelines) {
    std::vector<Span> spans;
    for (const Run& run : timeline.runs) {
      spans.push_back({run.from_ns, run.to_ns});
    }
    all.push_back({&timeline, SpanSet{std::move(spans)}});
  }
  return all;
}

// The SM clock in Hz at moments in K's time: from samples, or from NVML's readings where there are none.
struct Clocks {
  std::vector<double> hertz;
  bool sampled = true;
};
Clocks clocks(const Capture& capture, const std::vector<OnDevice>& devices) {
  Clocks result;
  for (const OnDevice& device : devices) {
    for (const Sample& sample : capture.samples) {
      if (sample.device == device.timeline->device && sample.cycles_elapsed && sample.end_ns > sample.start_ns &&
          device.time.covered(sample.start_ns, sample.end_ns) > 0) {
        result.hertz.push_back(1e9 * *sample.cycles_elapsed / static_cast<double>(sample.end_ns - sample.start_ns));
      }
    }
  }
  if (result.hertz.empty()) {
    result.sampled = false;
    for (const OnDevice& device : devices) {
      for (const DeviceReading& reading : capture.device_readings) {
        if (reading.device == device.timeline->device && reading.sm_clock_mhz &&
            device.time.contains(reading.time_ns)) {
          result.hertz.push_back(1e6 * *reading.sm_clock_mhz);
        }
      }
    }
  }
  return result;
}

void add_clock(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
               const std::vector<OnDevice>& devices) {
  Clocks seen = clocks(capture, devices);
  if (seen.hertz.empty()) {
    findings.push_back(unavailable(Question::capture, "conditions.sm_clock", kernels.label, "Hz",
                                   "neither a counter sample nor an NVML reading lies in this kernel's time",
                                   "record with --counters pm, or longer"));
    return;
  }
  const auto [low, high] = std::ranges::minmax(seen.hertz);
  const uint64_t count = seen.hertz.size();
  const double middle = quantile(seen.hertz, 0.5);
  const char* from = seen.sampled ? "samples" : "NVML readings";
  Finding finding =
      found(Question::capture, "conditions.sm_clock", kernels.label, middle, "Hz", Evidence::measured, count,
            fmt::format("While it ran, the SM clock was at {:.0f} MHz (median), between {:.0f} and "
                        "{:.0f} MHz, in {} {}.",
                        middle / 1e6, low / 1e6, high / 1e6, count, from));
  if (high - low > clock_changed * middle) {
    finding.advice =
        "durations of different executions are at different clocks: compare only with captures that were "
        "interleaved with this one, or lock the clocks (`nvidia-smi -lgc`)";
  }
  findings.push_back(std::move(finding));
  for (const auto& [id, value, which] :
       {std::tuple{"conditions.sm_clock.min", low, "lowest"}, std::tuple{"conditions.sm_clock.max", high, "highest"}}) {
    findings.push_back(found(Question::capture, id, kernels.label, value, "Hz", Evidence::measured, count,
                             fmt::format("The {} SM clock in its time was {:.0f} MHz.", which, value / 1e6)));
  }
}

void add_turns(std::vector<Finding>& findings, const KernelSet& kernels, const std::vector<OnDevice>& devices,
               uint64_t runs) {
  double other = 0, all = 0;
  for (const OnDevice& device : devices) {
    other += static_cast<double>(intersection(device.timeline->other_context, device.time).total());
    all += static_cast<double>(device.time.total());
  }
  if (other > 0) {
    Finding finding = found(
        Question::capture, "conditions.time_sliced", kernels.label, 100 * other / all, "%", Evidence::measured, runs,
        fmt::format(
            "In {:.2f}% of its time the device took turns with another context. Its figures are about the rest.",
            100 * other / all));
    finding.advice = "its durations in that time hold the other context's turns: see device.time_sliced";
    findings.push_back(std::move(finding));
  }
}

// Overlap inside a stream is programmatic dependent launch: nothing else starts a kernel before its predecessor has ended.
void add_dependent_launch(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                          const std::vector<OnDevice>& devices) {
  uint64_t early = 0, in_graphs = 0, graph_runs = 0, runs = 0;
  double overlap = 0;
  for (const OnDevice& device : devices) {
    for (const Run& run : device.timeline->runs) {
      const Execution& execution = capture.executions[run.execution];
      const bool graph = execution.graph_node_id != 0;
      ++runs;
      graph_runs += graph ? 1 : 0;
      if (run.from_ns > execution.start_ns) {
        ++early;
        in_graphs += graph ? 1 : 0;
        overlap += static_cast<double>(run.from_ns - execution.start_ns);
      }
    }
  }
  if (early == 0) {
    return;
  }
  std::string sentence = fmt::format(
      "{} of {} executions began before the one before them in their stream had ended (programmatic dependent launch), "
      "by {:.1f} us on average; their time counts from that end.",
      early, runs, overlap / static_cast<double>(early) / 1e3);
  if (graph_runs > 0) {
    sentence += fmt::format(
        " {} of these are graph nodes. Edges of graphs are not recorded: nodes of one launch that overlap by more than "
        "half of the shorter are taken for parallel branches, others for dependent launches.",
        in_graphs);
  }
  findings.push_back(found(Question::capture, "conditions.dependent_launch", kernels.label,
                           100 * static_cast<double>(early) / static_cast<double>(runs), "%", Evidence::measured, runs,
                           std::move(sentence)));
}

void add_sampled(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                 const std::vector<OnDevice>& devices, uint64_t runs) {
  double sampled = 0, all = 0;
  uint64_t count = 0;
  for (const OnDevice& device : devices) {
    std::vector<Span> spans;
    for (const Sample& sample : capture.samples) {
      if (sample.device == device.timeline->device && sample.end_ns > sample.start_ns) {
        spans.push_back({sample.start_ns, sample.end_ns + (sample.end_ns - sample.start_ns) / 100});
      }
    }
    count += spans.size();
    sampled += static_cast<double>(intersection(SpanSet{std::move(spans)}, device.time).total());
    all += static_cast<double>(device.time.total());
  }
  if (count > 0 && all > 0) {
    Finding finding =
        found(Question::capture, "conditions.sampled", kernels.label, 100 * sampled / all, "%", Evidence::measured,
              runs, fmt::format("Counter samples cover {:.2f}% of its time.", 100 * sampled / all));
    if (sampled < 0.99 * all) {
      finding.advice = "its figures from samples are about that part: device.unsampled says why the rest is missing";
    }
    findings.push_back(std::move(finding));
  }
}

// An execution that reaches beyond the recording: what its counters and neighbours did there is not in the capture.
void add_cut(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
             const std::vector<OnDevice>& devices, uint64_t runs) {
  const auto from = time_fact(capture, "record.start_ns"), to = time_fact(capture, "record.end_ns");
  if (!from || !to) {
    return;
  }
  uint64_t cut = 0;
  for (const OnDevice& device : devices) {
    for (const Run& run : device.timeline->runs) {
      const Execution& execution = capture.executions[run.execution];
      cut += execution.start_ns < *from || execution.end_ns > *to ? 1 : 0;
    }
  }
  if (cut > 0) {
    Finding finding = found(
        Question::capture, "conditions.cut", kernels.label, static_cast<double>(cut), "count", Evidence::measured, runs,
        fmt::format("{} of {} executions began before the recording or ended after it: their durations are whole, what "
                    "ran beside them outside the recording is not known.",
                    cut, runs));
    finding.advice = "record longer than its longest execution";
    findings.push_back(std::move(finding));
  }
}

}  // namespace

std::vector<Finding> conditions(const Capture& capture, const KernelSet& kernels) {
  std::vector<Finding> findings;
  const std::vector<DeviceTimeline> timelines_of_k = timelines(capture, kernels);
  const std::vector<OnDevice> devices = times_of(timelines_of_k);
  uint64_t runs = 0;
  for (const DeviceTimeline& timeline : timelines_of_k) {
    runs += timeline.runs.size();
  }
  if (runs == 0) {
    findings.push_back(unavailable(Question::capture, "conditions.sm_clock", kernels.label, "Hz",
                                   "no execution of it was recorded",
                                   "record with `kvet record -- CMD`: the device tier sees executions"));
    return findings;
  }
  add_clock(findings, capture, kernels, devices);
  add_turns(findings, kernels, devices, runs);
  add_dependent_launch(findings, capture, kernels, devices);
  add_sampled(findings, capture, kernels, devices, runs);
  add_cut(findings, capture, kernels, devices, runs);
  return only_finite(std::move(findings));
}

}  // namespace kvet::questions
