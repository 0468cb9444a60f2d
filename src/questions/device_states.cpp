// What may have happened to a device while it was recorded, so that nobody takes the rest for all: samples that stopped, a
// device that was lost, contexts that took turns, a part of a GPU, clients of MPS.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "model/facts.h"
#include "questions/contexts.h"
#include "questions/device_busy.h"
#include "questions/make_finding.h"
#include "questions/quality_parts.h"

namespace kvet::questions {
namespace {

constexpr double worth_saying_percent = 1;
constexpr uint64_t gpu_idle = 0x1;  // nvmlClocksEventReasonGpuIdle: nothing runs, and the clocks are dropping

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

bool says_something(const DeviceReading& reading) {
  return reading.power_milliwatts || reading.sm_clock_mhz || reading.memory_clock_mhz || reading.temperature_celsius ||
         reading.throttle_reasons;
}

struct Sampled {
  SpanSet times;
  uint64_t samples = 0;
  bool counts_switches = false;
};

Sampled sampled(const Capture& capture, DeviceId device) {
  Sampled result;
  std::vector<Span> spans;
  for (const Sample& sample : capture.samples) {
    if (sample.device == device && sample.end_ns > sample.start_ns) {
      // A hundredth of the length closes gaps that rounding of time stamps leaves.
      spans.push_back({sample.start_ns, sample.end_ns + (sample.end_ns - sample.start_ns) / 100});
      ++result.samples;
      result.counts_switches |= sample.context_switch_cycles.has_value();
    }
  }
  result.times = SpanSet{std::move(spans)};
  return result;
}

bool touches(const Loss& loss, const Span& span) {
  return loss.first_ns.value_or(std::numeric_limits<int64_t>::min()) < span.to &&
         loss.last_ns.value_or(std::numeric_limits<int64_t>::max()) > span.from;
}

std::string why_unsampled(const Capture& capture, DeviceId device, const Span& gap) {
  for (const Loss& loss : capture.losses) {
    if (loss.source == Source::counters && touches(loss, gap)) {
      if (loss.kind == LossKind::sampler_died) {
        return fmt::format("the process that samples the counters died ({})", capture.fact("counters.status"));
      }
      if (loss.kind == LossKind::counter_overflow) {
        return "the counter hardware's buffer had overflowed";
      }
    }
  }
  uint64_t readings = 0, silent = 0, idle = 0;
  for (const DeviceReading& reading : capture.device_readings) {
    if (reading.device == device && reading.time_ns >= gap.from && reading.time_ns < gap.to) {
      ++readings;
      silent += says_something(reading) ? 0 : 1;
      idle += (reading.throttle_reasons.value_or(0) & gpu_idle) != 0 ? 1 : 0;
    }
  }
  if (readings > 0 && silent == readings) {
    return "NVML had no answer from the device either";
  }
  if (2 * idle > readings) {
    return "NVML called the GPU idle then, so it may have been asleep";
  }
  // The sampler stops now and then to decode, and says for how long in all.
  if (time_fact(capture, "counters.paused_ns").value_or(0) >= gap.to - gap.from) {
    return "the sampler pauses while it decodes";
  }
  if (const std::string_view status = capture.fact("counters.status"); !status.empty() && status != "ok") {
    return fmt::format("the sampler said: {}", status);
  }
  return "nothing in the capture says why";
}

// The recording, as far as it is known; else what there is of it.
std::optional<Span> recorded(const Capture& capture, const SpanSet& samples, const SpanSet& busy) {
  const auto from = time_fact(capture, "record.start_ns"), to = time_fact(capture, "record.end_ns");
  if (from && to && *from < *to) {
    return Span{*from, *to};
  }
  std::optional<Span> all;
  for (const SpanSet* set : {&samples, &busy}) {
    if (!set->empty()) {
      const Span own{set->spans().front().from, set->spans().back().to};
      all = all ? Span{std::min(all->from, own.from), std::max(all->to, own.to)} : own;
    }
  }
  return all;
}

void add_unsampled(std::vector<Finding>& findings, const Capture& capture, DeviceId device, const std::string& label,
                   const Sampled& samples, const SpanSet& busy) {
  constexpr const char* id = "device.unsampled";
  if (samples.samples == 0) {
    if (!busy.empty() && capture.fact("counters.mode") == "pm") {
      findings.push_back(
          unavailable(Question::capture, id, "", "%",
                      fmt::format("there is no counter sample of {}: {}", label, capture.fact("counters.status")),
                      "`kvet doctor` says what this machine needs"));
      findings.back().beside = label;
    }
    return;
  }
  const std::optional<Span> whole = recorded(capture, samples.times, busy);
  const SpanSet gaps = difference(SpanSet{{*whole}}, samples.times);
  const double share =
      percent(static_cast<double>(gaps.total()), static_cast<double>(whole->to) - static_cast<double>(whole->from));
  std::string sentence = fmt::format("{:.2f}% of the recording has no counter samples of {}", share, label);
  const auto longest = std::ranges::max_element(gaps.spans(), {}, [](const Span& gap) { return gap.to - gap.from; });
  if (longest != gaps.spans().end()) {
    sentence +=
        fmt::format("; the longest gap, {:.3f} s, begins after {:.3f} s: {}",
                    static_cast<double>(longest->to - longest->from) / 1e9,
                    static_cast<double>(longest->from - whole->from) / 1e9, why_unsampled(capture, device, *longest));
  }
  Finding finding =
      found(Question::capture, id, "", share, "%", Evidence::measured, samples.samples, std::move(sentence) + ".");
  if (share > worth_saying_percent) {
    finding.advice = "figures from samples are about the rest: what ran in the gaps is not in them";
  }
  finding.beside = label;
  findings.push_back(std::move(finding));
}

void add_time_sliced(std::vector<Finding>& findings, const Capture& capture, DeviceId device, const std::string& label,
                     const Sampled& samples, const SpanSet& busy) {
  constexpr const char* id = "device.time_sliced";
  const SpanSet several = groups_under_way(capture, device);
  if (several.empty() && !samples.counts_switches) {
    if (!busy.empty()) {
      findings.push_back(unavailable(Question::capture, id, "", "%",
                                     fmt::format("no recorded context took turns with another on {}, and context "
                                                 "switches, which would tell of others, were not sampled",
                                                 label),
                                     "record with --counters pm; without it, see that nobody else uses the GPU"));
      findings.back().beside = label;
    }
    return;
  }
  const SpanSet switching = switching_samples(capture, device);
  const bool by_samples = samples.samples > 0;
  const SpanSet& whole = by_samples ? samples.times : busy;
  std::vector<Span> either = intersection(several, whole).spans();
  either.insert(either.end(), switching.spans().begin(), switching.spans().end());
  const auto time = static_cast<double>(whole.total());
  const double share = std::min(100.0, percent(static_cast<double>(SpanSet{std::move(either)}.total()), time));
  std::string sentence = fmt::format("Contexts took turns on {} in {:.2f}% of the {}", label, share,
                                     by_samples ? "sampled time" : "time in which kernels ran");
  if (share > 0) {
    sentence += fmt::format(": kernels of contexts that cannot overlap were under way together in {:.2f}%",
                            percent(static_cast<double>(intersection(several, whole).total()), time));
    sentence += samples.counts_switches
                    ? fmt::format(", and switching took a hundredth of the cycles or more in {:.2f}%{}",
                                  percent(static_cast<double>(switching.total()), time),
                                  several.empty() ? "; the other context was not recorded" : "")
                    : ", and switches were not sampled";
  }
  Finding finding = found(Question::capture, id, "", share, "%", Evidence::measured, samples.samples, sentence + ".");
  if (share > worth_saying_percent) {
    finding.advice =
        "executions in that time count neither as alone nor as beside a sibling, and their durations hold the others' "
        "turns: run the processes under MPS if production does, or record one alone";
  }
  finding.beside = label;
  findings.push_back(std::move(finding));
}

// From when on NVML had nothing to say about a device of which it had said something before.
void add_lost(std::vector<Finding>& findings, const Capture& capture, DeviceId device, const std::string& label) {
  const DeviceReading* last_said = nullptr;
  const DeviceReading* first_silent = nullptr;
  const DeviceReading* last = nullptr;
  uint64_t silent = 0;
  for (const DeviceReading& reading : capture.device_readings) {
    if (reading.device != device) {
      continue;
    }
    last = &reading;
    if (says_something(reading)) {
      last_said = &reading;
      first_silent = nullptr;
      silent = 0;
    } else if (silent++ == 0) {
      first_silent = &reading;
    }
  }
  if (last_said == nullptr || first_silent == nullptr || silent < 2) {
    return;  // a single one is a reading that failed
  }
  const auto lost_ns = static_cast<double>(last->time_ns - last_said->time_ns);
  Finding finding = found(
      Question::capture, "device.lost", "", lost_ns, "ns", Evidence::measured, silent,
      fmt::format(
          "From some moment after {:.3f} s of the recording NVML had no answer from {} any more, {} times to "
          "the end: the device was lost, or its driver stopped answering{}.",
          static_cast<double>(last_said->time_ns - time_fact(capture, "record.start_ns").value_or(last_said->time_ns)) /
              1e9,
          label, silent,
          capture.fact("counters.status").empty()
              ? ""
              : fmt::format(" (the sampler's last word: {})", capture.fact("counters.status"))));
  finding.advice = "look for Xid messages in the kernel log (`dmesg`), and record again: what came later is missing";
  finding.beside = label;
  findings.push_back(std::move(finding));
}

void add_sharing(std::vector<Finding>& findings, const Capture& capture, DeviceId device, const std::string& label) {
  if (capture.devices[device.value].mig) {
    Finding finding =
        found(Question::capture, "device.mig", "", 1, "flag", Evidence::measured, 1,
              fmt::format("{} is a MIG instance, a part of a GPU: the hardware's counters are not read for parts, so "
                          "no figure from samples is made for it.",
                          label));
    finding.advice =
        "for occupancy and DRAM in the workload record on a whole GPU; durations and the modelled figures hold";
    finding.beside = label;
    findings.push_back(std::move(finding));
  }
  std::set<uint32_t> clients, limited;
  for (const Context& context : capture.contexts) {
    if (context.device == device && context.sharing == ContextSharing::mps) {
      clients.insert(context.process.value);
      if (context.mps_thread_percent && *context.mps_thread_percent < 100) {
        limited.insert(context.process.value);
      }
    }
  }
  if (!clients.empty()) {
    Finding finding = found(
        Question::capture, "device.mps_clients", "", static_cast<double>(clients.size()), "count", Evidence::measured,
        clients.size(),
        fmt::format("{} recorded {} of the Multi-Process Service on {}, {} of them limited to part of the threads: "
                    "their kernels are each other's siblings. Clients that were not recorded show as unexplained "
                    "warps, and only there.",
                    clients.size(), clients.size() == 1 ? "process is a client" : "processes are clients", label,
                    limited.size()));
    finding.beside = label;
    findings.push_back(std::move(finding));
  }
}

}  // namespace

void add_device_states(std::vector<Finding>& findings, const Capture& capture) {
  for (uint32_t id = 0; id < capture.devices.size(); ++id) {
    const DeviceId device{id};
    const std::string label = device_label(capture, device);
    const Sampled samples = sampled(capture, device);
    const SpanSet busy = device_executing(capture, device);
    add_sharing(findings, capture, device, label);
    add_time_sliced(findings, capture, device, label, samples, busy);
    add_unsampled(findings, capture, device, label, samples, busy);
    add_lost(findings, capture, device, label);
  }
}

}  // namespace kvet::questions
