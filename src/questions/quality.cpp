// What the capture as a whole is worth: tier, completeness, losses, and counts that must agree.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "questions/loss_words.h"
#include "questions/make_finding.h"
#include "questions/missing_source.h"
#include "questions/quality_parts.h"
#include "questions/questions.h"
#include "questions/spans.h"

namespace kvet::questions {
namespace {

constexpr double blocks_tolerance = 0.01;  // questions.md: within 1%

void add_tier(std::vector<Finding>& findings, const Capture& capture) {
  struct Tier {
    std::string_view name;
    std::string_view gives;
  };
  static constexpr Tier tiers[] = {
      {"host", "launches, off-CPU times and NCCL calls, no kernel names"},
      {"host+counters", "launches, off-CPU times, NCCL calls and device-wide counters, no kernel names"},
      {"unprivileged", "executions and names, nothing of the scheduler"},
      {"device", "executions and everything of the host, no counters"},
      {"full", "all four questions"},
  };
  const std::string_view tier = capture.fact("tier");
  for (size_t i = 0; i < std::size(tiers); ++i) {
    if (tiers[i].name == tier) {
      findings.push_back(found(Question::capture, "quality.tier", "", static_cast<double>(i + 1), "tier",
                               Evidence::measured, 1, fmt::format("Tier \"{}\": {}.", tier, tiers[i].gives)));
      return;
    }
  }
  if (tier == "imported") {
    findings.push_back(
        unavailable(Question::capture, "quality.tier", "", "tier",
                    fmt::format("imported from {} {}", capture.fact("import.format"), capture.fact("import.version")),
                    "what it lacks is listed below; `kvet record` has all of it"));
    return;
  }
  findings.push_back(
      unavailable(Question::capture, "quality.tier", "", "tier",
                  tier.empty() ? "the capture does not say its tier" : "the capture names an unknown tier",
                  "imported captures have none"));
}

void add_complete(std::vector<Finding>& findings, const Capture& capture) {
  Finding finding = found(
      Question::capture, "quality.complete", "", capture.complete ? 1 : 0, "flag", Evidence::measured, 1,
      capture.complete
          ? (capture.fact("tier") == "imported" ? "The file was read to its end." : "The recorder finished.")
          : "The recorder did not finish: up to the last second is missing, and no verdict passes on this capture.");
  if (!capture.complete) {
    finding.advice = "record again";
  }
  findings.push_back(std::move(finding));
}

void add_losses(std::vector<Finding>& findings, const Capture& capture) {
  std::map<std::pair<Source, LossKind>, double> counts;
  double all = 0;
  for (const Loss& loss : capture.losses) {
    counts[{loss.source, loss.kind}] += static_cast<double>(loss.count);
    all += static_cast<double>(loss.count);
  }
  findings.push_back(found(
      Question::capture, "quality.losses", "", all, "count", Evidence::measured, capture.losses.size(),
      all == 0 ? std::string{"Nothing was lost."} : fmt::format("{:.0f} records were lost; by source below.", all)));
  for (const auto& [key, count] : counts) {
    if (count > 0) {
      const LossWords explanation = explain_loss(key.first, key.second);
      Finding finding =
          found(Question::capture, "quality.loss", "", count, "count", Evidence::measured,
                static_cast<uint64_t>(std::min(count, 1e18)),
                fmt::format("{:.0f} records of {} were lost: {}.", count, source_name(key.first), explanation.what));
      finding.beside = std::string{source_name(key.first)};
      finding.advice = explanation.advice;
      findings.push_back(std::move(finding));
    }
  }
}

std::optional<double> number(const Capture& capture, std::string_view key) {
  const std::string_view text_value = capture.fact(key);
  double value = 0;
  const auto [end, error] = std::from_chars(text_value.data(), text_value.data() + text_value.size(), value);
  return !text_value.empty() && error == std::errc{} && end == text_value.data() + text_value.size()
             ? std::optional{value}
             : std::nullopt;
}

// Launch records against what the uprobes on the same entry points counted.
void add_launch_counts(std::vector<Finding>& findings, const Capture& capture) {
  constexpr const char* id = "quality.launch_records";
  const auto seen = number(capture, "check.launches_uprobe");
  double records = 0, captured = 0;
  for (const ApiCall& call : capture.api_calls) {
    if (is_launch(call.kind) && call.source == Source::cupti) {
      ++records;
      captured += call.captured ? 1 : 0;
    }
  }
  if (!seen && capture.fact("tier") == "imported") {
    findings.push_back(unavailable(Question::capture, id, "", "count",
                                   "an imported file has nothing to hold its launch records against",
                                   "`kvet record` counts launches in two ways"));
    return;
  }
  if (!seen) {
    findings.push_back(unavailable(Question::capture, id, "", "count", "no uprobes counted the launches",
                                   "record as root, or with CAP_BPF and CAP_PERFMON"));
    return;
  }
  if (records == 0) {
    findings.push_back(unavailable(Question::capture, id, "", "count",
                                   "no launch records: the uprobes are the only source", "use the device tier"));
    return;
  }
  Finding finding =
      found(Question::capture, id, "", records - *seen, "count", Evidence::measured, static_cast<uint64_t>(records),
            fmt::format("CUPTI recorded {:.0f} launch calls, the uprobes counted {:.0f}: difference {:+.0f}. Under "
                        "stream capture, executing nothing: {:.0f}{}.",
                        records, *seen, records - *seen, captured,
                        number(capture, "check.launches_captured")
                            ? fmt::format(" (uprobes: {:.0f})", *number(capture, "check.launches_captured"))
                            : ""));
  if (records != *seen) {
    finding.advice =
        "launches at the edges of the recording explain a few; more means that one of the two missed an entry point or "
        "lost records";
  }
  findings.push_back(std::move(finding));
}

// Blocks that the hardware completed against executions × grid.
void add_blocks(std::vector<Finding>& findings, const Capture& capture) {
  constexpr const char* id = "quality.blocks";
  double counted = 0, expected = 0;
  uint64_t executions = 0, unknown_grids = 0, samples = 0;
  for (uint32_t device = 0; device < capture.devices.size(); ++device) {
    std::vector<Span> spans;
    double sum = 0;
    for (const Sample& sample : capture.samples) {
      if (sample.device.value == device && sample.blocks_completed) {
        // A hundredth of the length closes gaps that rounding of time stamps leaves.
        spans.push_back({sample.start_ns, sample.end_ns + (sample.end_ns - sample.start_ns) / 100});
        sum += *sample.blocks_completed;
        ++samples;
      }
    }
    const SpanSet sampled{std::move(spans)};
    if (sampled.empty()) {
      continue;
    }
    counted += sum;
    for (const Execution& execution : capture.executions) {
      if (execution.device.value == device && sampled.contains(execution.end_ns)) {
        const KernelShape& shape = capture.shapes[execution.shape.value];
        const double blocks = static_cast<double>(shape.grid[0]) * shape.grid[1] * shape.grid[2];
        unknown_grids += blocks == 0 ? 1 : 0;
        expected += blocks;
        ++executions;
      }
    }
  }
  if (samples == 0 || executions == 0 || unknown_grids > 0) {
    findings.push_back(unavailable(Question::capture, id, "", "ratio",
                                   samples == 0      ? "no counter samples of completed blocks"
                                   : executions == 0 ? "no execution ended while the counters were sampled"
                                                     : fmt::format("{} executions have an unknown grid", unknown_grids),
                                   "record with --counters pm in the full tier"));
    return;
  }
  const double ratio = counted / expected;
  const bool agree = ratio >= 1 - blocks_tolerance && ratio <= 1 + blocks_tolerance;
  Finding finding =
      found(Question::capture, id, "", ratio, "ratio", Evidence::measured, executions,
            fmt::format("The counters saw {:.0f} blocks complete, the {} recorded executions have {:.0f}: {}.", counted,
                        executions, expected, agree ? "they agree within 1%" : "they do not agree within 1%"));
  if (!agree) {
    finding.advice = ratio > 1
                         ? "work ran that was not recorded: another process, a conditional graph body, or copies and "
                           "memsets that the driver runs as kernels"
                         : "executions were recorded that the counters did not see, or counter samples are missing";
  }
  findings.push_back(std::move(finding));
}

void add_overhead_fact(std::vector<Finding>& findings, const Capture& capture, const std::string& key) {
  if (const auto value = number(capture, key)) {
    const std::string_view unit = key.ends_with("_ns")        ? "ns"
                                  : key.ends_with("_percent") ? "%"
                                  : key.ends_with("_bytes")   ? "bytes"
                                                              : "count";
    Finding finding = found(Question::capture, "quality.overhead", "", *value, std::string{unit}, Evidence::measured, 1,
                            fmt::format("The recorder's own cost: {} = {}.", key, capture.fact(key)));
    finding.beside = key;
    findings.push_back(std::move(finding));
  }
}

void add_overhead(std::vector<Finding>& findings, const Capture& capture) {
  add_overhead_fact(findings, capture, "counters.processor_time_ns");
  for (auto fact = capture.meta.lower_bound("overhead.");
       fact != capture.meta.end() && fact->first.starts_with("overhead."); ++fact) {
    add_overhead_fact(findings, capture, fact->first);
  }
}

}  // namespace

std::vector<Finding> quality(const Capture& capture) {
  std::vector<Finding> findings;
  add_tier(findings, capture);
  add_complete(findings, capture);
  add_missing_sources(findings, capture);
  add_messages(findings, capture);
  add_losses(findings, capture);
  add_launch_counts(findings, capture);
  add_joins(findings, capture);
  add_blocks(findings, capture);
  add_overhead(findings, capture);
  add_device_figures(findings, capture);
  add_device_states(findings, capture);
  return only_finite(std::move(findings));
}

}  // namespace kvet::questions
