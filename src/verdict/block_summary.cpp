#include "verdict/block_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "verdict/ledger.h"
#include "verdict/statistics.h"

namespace kvet::verdict {

namespace {

// "2.63,2.62". Whatever is no positive number is left out: facts come from strangers.
std::vector<double> positive_numbers(std::string_view list) {
  std::vector<double> numbers;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view one = list.substr(0, comma);
    double value = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), value);
    if (error == std::errc() && end == one.data() + one.size() && std::isfinite(value) && value > 0) {
      numbers.push_back(value);
    }
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return numbers;
}

// One ratio per pair.
std::vector<double> log_ratios(std::string_view list) {
  std::vector<double> ratios = positive_numbers(list);
  for (double& ratio : ratios) {
    ratio = std::log(ratio);
  }
  return ratios;
}

// What validate noted of a claim from a file: "format\nfile\nid", the device, "baseline,candidate" in ns.
std::optional<Claim> claim_source_of(const Capture& capture, double ratio) {
  const std::string_view source = capture.fact("experiment.claim_source");
  const size_t first = source.find('\n'),
               second = first == std::string_view::npos ? first : source.find('\n', first + 1);
  if (second == std::string_view::npos) {
    return std::nullopt;
  }
  Claim claim;
  claim.ratio = ratio;
  claim.format = source.substr(0, first);
  claim.file = source.substr(first + 1, second - first - 1);
  claim.id = source.substr(second + 1);
  claim.device = capture.fact("experiment.claim_device");
  claim.known_correct = capture.fact("experiment.claim_unverified").empty();
  if (const std::vector<double> times = positive_numbers(capture.fact("experiment.claim_ns")); times.size() == 2) {
    claim.baseline_ns = times[0];
    claim.candidate_ns = times[1];
  }
  return claim;
}

}  // namespace

BlockIdentity identity_of(const Capture& capture) {
  BlockIdentity identity;
  identity.experiment = capture.fact("experiment.id");
  identity.kind = capture.fact("experiment.kind");
  identity.recorded_arm = capture.fact("experiment.arm");
  identity.quad = whole_fact(capture, "experiment.quad");
  identity.position = whole_fact(capture, "experiment.position");
  identity.metric = number_fact(capture, "experiment.metric");
  identity.metric_higher_is_better = capture.fact("experiment.metric_better") != "lower";
  identity.claim = number_fact(capture, "experiment.claim");
  if (identity.claim) {
    identity.claim_source = claim_source_of(capture, *identity.claim);
  }
  if (auto quads = whole_fact(capture, "experiment.fixed_quads"); quads && *quads > 0) {
    identity.fixed_quads = static_cast<uint64_t>(*quads);
  }
  identity.check = capture.fact("experiment.check");
  identity.isolated = log_ratios(capture.fact("experiment.isolated"));
  return identity;
}

namespace {

std::string hexadecimal(const std::array<uint8_t, 16>& bytes) {
  std::string text;
  for (uint8_t byte : bytes) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

// Whether a loss touches what the verdict rests on: executions, launches, ranges. Counter samples, scheduler and NCCL
// events answer questions, they do not decide.
bool decides(const Loss& loss) {
  switch (loss.source) {
    case Source::cupti:
    case Source::usdt:
    case Source::store:
    case Source::recorder:
    case Source::imported: break;
    case Source::uprobe:
    case Source::scheduler:
    case Source::nccl:
    case Source::counters:
    case Source::nvml: return false;
  }
  switch (loss.kind) {
    case LossKind::counter_overflow:
    case LossKind::counter_gap:
    case LossKind::sampler_died: return false;
    case LossKind::cupti_dropped:
    case LossKind::bad_time:
    case LossKind::batch_gap:
    case LossKind::batch_slot:
    case LossKind::table_full:
    case LossKind::no_reader:
    case LossKind::unknown_record:
    case LossKind::buffer_allocation:
    case LossKind::ring_full:
    case LossKind::copy_failed:
    case LossKind::unmatched:
    case LossKind::map_full:
    case LossKind::before_attach:
    case LossKind::store_failed:
    case LossKind::unjoined: return true;
    case LossKind::ended_without_exit_handlers:
      // What such an end takes with it lies after the last answer of CUPTI, which is asked ten times a second, once a second
      // under load. A tail of that length moves no median; a longer one means that CUPTI did not answer.
      constexpr int64_t usual_tail_ns = 2'000'000'000;
      return loss.first_ns && loss.last_ns && *loss.last_ns - *loss.first_ns > usual_tail_ns;
  }
  return true;
}

const char* name(LossKind kind) {
  switch (kind) {
    case LossKind::cupti_dropped: return "dropped by CUPTI";
    case LossKind::bad_time: return "with impossible time stamps";
    case LossKind::batch_gap: return "in batches that never arrived";
    case LossKind::batch_slot: return "without a free batch slot in the target";
    case LossKind::table_full: return "names that did not fit into the table";
    case LossKind::no_reader: return "with no recorder attached";
    case LossKind::unknown_record: return "of an unknown kind";
    case LossKind::buffer_allocation: return "CUPTI buffers without memory";
    case LossKind::ring_full: return "into a full ring buffer";
    case LossKind::copy_failed: return "in batches that could not be copied";
    case LossKind::unmatched: return "without their other half";
    case LossKind::map_full: return "for which a BPF map had no room";
    case LossKind::before_attach: return "before the recorder was attached";
    case LossKind::counter_overflow: return "counter samples overwritten";
    case LossKind::counter_gap: return "counter samples missing";
    case LossKind::sampler_died: return "after the counter sampler died";
    case LossKind::store_failed: return "that could not be written";
    case LossKind::unjoined: return "without a launch";
    case LossKind::ended_without_exit_handlers: return "or more, at the end of a process without exit handlers";
  }
  return "lost";
}

std::vector<LossLine> losses_in(const Capture& capture, const Window& window) {
  std::vector<LossLine> lines;
  for (const Loss& loss : capture.losses) {
    bool before = loss.last_ns && *loss.last_ns < window.span.from;
    bool after = loss.first_ns && *loss.first_ns >= window.span.to;
    if (loss.count > 0 && decides(loss) && !before && !after) {
      lines.push_back({fmt::format("{} records {}", loss.count, name(loss.kind)), loss.count});
    }
  }
  return lines;
}

std::optional<double> clock_of(const Capture& capture, const Window& window, const std::set<uint32_t>& devices) {
  double cycles = 0, time = 0;
  for (const Sample& sample : capture.samples) {
    if (sample.cycles_elapsed && devices.contains(sample.device.value) && window.contains(sample.start_ns)) {
      cycles += *sample.cycles_elapsed;
      time += static_cast<double>(sample.end_ns - sample.start_ns);
    }
  }
  if (time > 0) {
    return cycles / time * 1e9;
  }
  double sum = 0, count = 0;
  for (const DeviceReading& reading : capture.device_readings) {
    if (reading.sm_clock_mhz && devices.contains(reading.device.value) && window.contains(reading.time_ns)) {
      sum += *reading.sm_clock_mhz;
      ++count;
    }
  }
  return count > 0 ? std::optional(sum / count * 1e6) : std::nullopt;
}

std::optional<double> blocks_ratio_of(const Capture& capture) {
  bool aligned = false;
  for (const ClockMapping& mapping : capture.clock_mappings) {
    aligned = aligned || (mapping.source == ClockSource::counters && mapping.residual_ns);
  }
  bool lost = std::any_of(capture.losses.begin(), capture.losses.end(),
                          [](const Loss& loss) { return loss.source == Source::counters && loss.count > 0; });
  if (!aligned || lost) {
    return std::nullopt;
  }
  for (const Finding& finding : questions::quality(capture)) {
    if (finding.id == "quality.blocks") {
      return finding.value;
    }
  }
  return std::nullopt;
}

struct ShapeTimes {
  double all_ns = 0, solo_ns = 0;
  uint64_t all = 0, solo = 0;
};

void add_solo(BlockSummary& summary, const Capture& capture, const questions::KernelSet& set, const Window& window) {
  const std::vector<bool> solo = solo_executions(capture, set);
  std::map<uint32_t, ShapeTimes> shapes;
  for (size_t i = 0; i < capture.executions.size(); ++i) {
    const Execution& execution = capture.executions[i];
    if (!set.contains(execution.shape) || !window.contains(execution.start_ns)) {
      continue;
    }
    auto duration = static_cast<double>(execution.end_ns - execution.start_ns);
    ShapeTimes& shape = shapes[execution.shape.value];
    ++shape.all;
    if (solo[i]) {
      ++shape.solo;
      shape.solo_ns += duration;
    }
  }
  double time = 0;
  uint64_t covered = 0;
  for (const auto& [id, shape] : shapes) {
    if (shape.solo > 0) {
      time += shape.solo_ns / static_cast<double>(shape.solo) * static_cast<double>(shape.all);
      covered += shape.all;
      summary.solo_executions += shape.solo;
    }
  }
  if (summary.set_executions == 0) {
    return;
  }
  summary.solo_coverage = static_cast<double>(covered) / static_cast<double>(summary.set_executions);
  if (summary.solo_coverage >= least_solo_coverage && summary.steps > 0 && time > 0) {
    summary.solo_time_per_step_ns = time / summary.solo_coverage / static_cast<double>(summary.steps);
  }
}

}  // namespace

std::vector<std::string> recording_faults(const Capture& capture) {
  const Window window = window_of(capture);
  std::vector<std::string> faults;
  if (!capture.complete) {
    faults.emplace_back("the recorder did not finish");
  }
  if (std::none_of(capture.executions.begin(), capture.executions.end(),
                   [&](const Execution& execution) { return window.contains(execution.start_ns); })) {
    std::string_view status = capture.fact("inject.status");
    faults.push_back("no kernel execution in the window" +
                     (status.empty() ? std::string() : "; " + std::string(status)));
  }
  for (const LossLine& loss : losses_in(capture, window)) {
    faults.push_back(loss.what);
  }
  for (const std::string& disagreement : check_counts(capture, window).disagreements) {
    faults.push_back(disagreement);
  }
  return faults;
}

BlockSummary summarise(const Capture& capture, Arm arm, const KernelSetDefinition& definition,
                       const StepDefinition& step_definition) {
  const questions::KernelSet set = definition.in(capture);
  const Window window = window_of(capture);
  const LaunchIndex launches(capture);
  BlockSummary summary;
  summary.path = capture.path;
  summary.arm = arm;
  summary.identity = identity_of(capture);
  summary.complete = capture.complete;
  summary.tier = capture.fact("tier");
  summary.driver_version = capture.fact("driver_version");

  const std::vector<Step> steps = find_steps(capture, arm, step_definition, set, window, launches);
  summary.steps = steps.size();
  const auto step_count = static_cast<double>(steps.size());

  std::map<uint32_t, std::vector<TimeSpan>> busy;  // by device
  std::set<uint32_t> devices;
  uint64_t shared = 0;
  for (const Execution& execution : capture.executions) {
    bool inside = window.contains(execution.start_ns);
    summary.executions += inside ? 1 : 0;
    if (!set.contains(execution.shape)) {
      shared += inside ? 1 : 0;
      continue;
    }
    if (!inside) {
      ++summary.set_executions_outside;
      continue;
    }
    ++summary.set_executions;
    devices.insert(execution.device.value);
    busy[execution.device.value].push_back({execution.start_ns, execution.end_ns});
  }
  int64_t set_time = 0;
  for (auto& [device, spans] : busy) {
    spans = merged(std::move(spans));
    set_time += total(spans);
  }
  summary.set_time_ns = static_cast<double>(set_time);
  for (uint32_t id : devices) {
    const Device& device = capture.devices[id];
    summary.devices.push_back({hexadecimal(device.uuid), capture.text(device.name), device.power_limit_milliwatts});
    if (summary.driver_version.empty()) {
      summary.driver_version = capture.text(device.driver_version);
    }
  }
  std::sort(summary.devices.begin(), summary.devices.end());

  if (!steps.empty()) {
    summary.shared_executions_per_step = static_cast<double>(shared) / step_count;
    if (set_time > 0) {
      summary.set_time_per_step_ns = summary.set_time_ns / step_count;
    }
  }
  if (step_definition.has_duration() && !steps.empty()) {
    std::vector<double> lengths;
    std::vector<TimeSpan> spans;
    for (const Step& step : steps) {
      lengths.push_back(static_cast<double>(step.end - step.start));
      spans.push_back({step.start, step.end});
    }
    summary.step_median_ns = median(std::move(lengths));
    spans = merged(std::move(spans));
    int64_t within = 0;
    for (const auto& [device, list] : busy) {
      for (const TimeSpan& span : spans) {
        within += total_within(list, span.from, span.to);
      }
    }
    summary.set_share_outside_steps = set_time > 0 ? 1 - static_cast<double>(within) / summary.set_time_ns : 0;
  }
  if (steps.size() >= 2 * slices_per_run) {
    for (size_t slice = 0; slice < slices_per_run; ++slice) {
      size_t first = slice * steps.size() / slices_per_run, last = (slice + 1) * steps.size() / slices_per_run;
      int64_t from = slice == 0 ? INT64_MIN : steps[first].start;
      int64_t to = slice + 1 == slices_per_run ? INT64_MAX : steps[last].start;
      int64_t time = 0;
      for (const auto& [device, list] : busy) {
        time += total_within(list, from, to);
      }
      summary.slices.push_back(static_cast<double>(time) / static_cast<double>(last - first));
    }
  }
  add_solo(summary, capture, set, window);
  if (step_definition.has_duration()) {
    summary.step_ledger = partition_steps(capture, set, steps);
  }
  summary.window_ledger = partition_window(capture, set, steps, window);
  summary.sm_clock_hz = clock_of(capture, window, devices);
  summary.counts = check_counts(capture, window);
  summary.losses = losses_in(capture, window);
  summary.blocks_ratio = blocks_ratio_of(capture);
  for (const ClockMapping& mapping : capture.clock_mappings) {
    bool of_executions = mapping.source == ClockSource::activity || mapping.source == ClockSource::imported;
    if (of_executions && mapping.residual_ns) {
      summary.clock_residual_ns = std::max(summary.clock_residual_ns.value_or(0), *mapping.residual_ns);
    }
  }
  return summary;
}

}  // namespace kvet::verdict
