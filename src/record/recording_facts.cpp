// What a recording says about itself: facts, losses, the summary.
#include <fmt/core.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>

#include "base/terminal.h"
#include "probes/activity/table.h"
#include "record/calibration_facts.h"
#include "record/process_facts.h"
#include "record/recording.h"

namespace kvet::record {

namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int64_t realtime_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

// "1,234,567"
std::string grouped(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3; at -= 3) {
    text.insert(at - 3, ",");
  }
  return text;
}

const char* name(Source source) {
  switch (source) {
    case Source::cupti: return "CUPTI";
    case Source::uprobe: return "launch probes";
    case Source::usdt: return "batches";
    case Source::scheduler: return "scheduler";
    case Source::nccl: return "NCCL probes";
    case Source::counters: return "counters";
    case Source::nvml: return "NVML";
    case Source::store: return "file";
    case Source::recorder: return "recorder";
    case Source::imported: return "import";
  }
  return "";
}

}  // namespace

void Recording::start_facts() {
  utsname system{};
  uname(&system);
  fact("tier", tier_name(plan_, sampler_ && sampler_->sampling()));
  if (!plan_.reason.empty()) {
    fact("tier.reason", plan_.reason);
  }
  fact("command", options_.pid ? command_line(*options_.pid) : join_command(options_.command));
  fact("hostname", system.nodename);
  fact("kernel_release", system.release);
  fact("boot_id", first_line("/proc/sys/kernel/random/boot_id"));
  fact("kvet_version", options_.kvet_version);
  fact("clock.monotonic_ns", std::to_string(monotonic_ns()));
  fact("clock.realtime_ns", std::to_string(realtime_ns()));
  const CalibrationFacts calibrations = calibration_facts();
  for (const auto& [key, value] : calibrations.facts) {
    fact(key, value);
  }
  for (const std::string& sentence : calibrations.ignored) {
    print_warning(sentence);
  }
  for (const auto& [key, value] : options_.meta) {
    fact(key, value);
  }
}

void Recording::report_losses() {
  const int64_t now = monotonic_ns();
  if (kernel_) {
    kernel_->report_losses(losses_, now);
  }
  if (memory_) {
    // Each batch that was dropped or skipped is a gap in its process's sequence as well, and counted there in records.
    losses_.report(Source::usdt, LossKind::map_full, memory_->processes_without_table(), now);
    losses_.report(Source::usdt, LossKind::unknown_record, forged_batches_, now);
  }
  losses_.report(Source::store, LossKind::store_failed, writer_->dropped_rows(), now);
}

// Whether every process that was recorded tells of launches that wait for room in the queue.
bool Recording::tells_queue_waits() const {
  return !with_table_.empty() && std::ranges::all_of(with_table_, [&](ProcessId process) {
    const auto header = activity_->header(process);
    return header && header->queue_waits == 1;
  });
}

std::string Recording::inject_status() {
  if (!plan_.inject) {
    return "not injected: " + (plan_.reason.empty() ? std::string("the tier does without it") : plan_.reason);
  }
  if (with_table_.empty()) {
    return "no process of the target initialised CUDA with kvet's library in its environment";
  }
  std::map<std::string, size_t> sentences;
  for (const ProcessId process : with_table_) {
    if (const auto header = activity_->header(process)) {
      processes_.set_inject_status(process, header->status);
      ++sentences[probes::sentence(static_cast<kvet_inject_status>(header->status))];
    } else {
      ++sentences[header.error().message()];
    }
  }
  std::string text;
  for (const auto& [sentence, count] : sentences) {
    text += (text.empty() ? "" : "; ") + (count > 1 ? fmt::format("{} (in {} processes)", sentence, count) : sentence);
  }
  return text;
}

void Recording::end_facts() {
  if (kernel_ && plan_.inject && without_activity_ > 0 && without_activity_ == with_table_.size()) {
    // What came is what the host tier gives.
    plan_.base = "host";
    plan_.reason = inject_status();
    fact("tier.reason", plan_.reason);
  }
  fact("tier", tier_name(plan_, sampler_ && sampler_->samples() > 0));
  fact("record.start_ns", std::to_string(window_from_ns_));
  fact("record.end_ns", std::to_string(window_to_ns_));
  fact("record.stop", stopped_by_);
  if (target_ && target_->ended()) {
    fact("target.exit_code", std::to_string(target_->exit_code()));
  }
  fact("inject.status", inject_status());
  if (tells_queue_waits()) {
    fact("inject.queue_waits", "1");
  }
  if (!kernel_) {
    return;
  }
  for (const auto& [source, why] : kernel_->dropped()) {
    fact("source." + source, why);
  }
  fact("check.launches_uprobe", std::to_string(kernel_->launches()));
  if (kernel_->longest_attach_delay_ns() > 0) {
    fact("check.attach_delay_ns", std::to_string(kernel_->longest_attach_delay_ns()));
  }
  fact("check.launches_captured", std::to_string(kernel_->captured_launches()));
  if (kernel_->has_activity()) {
    const probes::BpfCounters counters = kernel_->activity_counters();
    // In batches. Their records are counted as gaps in the sequences of their processes.
    fact("check.batches", std::to_string(counters[KVET_COUNTER_EVENTS]));
    fact("check.batches_ring_full", std::to_string(counters[KVET_COUNTER_BATCH_RESERVE_FAILED]));
    fact("check.batches_copy_failed", std::to_string(counters[KVET_COUNTER_BATCH_COPY_FAILED]));
    fact("check.batches_missed", std::to_string(kernel_->missed_batches()));
  }
}

Result<RecordOutcome> Recording::finish_file() {
  end_facts();
  aligning_->align();
  if (auto finished = writer_->finish(); !finished) {
    return std::unexpected(finished.error());
  }
  RecordOutcome outcome;
  outcome.exit_code = target_ && target_->ended() ? target_->exit_code() : 0;
  outcome.summary = summary();
  return outcome;
}

std::string Recording::summary() const {
  const WindowSink::Counts& counts = sink_.counts();
  std::string text = fmt::format("{}: {:.1f} s, {} executions, {} launches", options_.output,
                                 static_cast<double>(window_to_ns_ - window_from_ns_) / 1e9,
                                 plan_.inject ? grouped(counts.executions) : "no", grouped(counts.launches));
  if (sink_.losses().empty()) {
    text += kernel_ && !cuda_seen_ ? ", nobody loaded libcuda" : ", no losses";
  } else {
    std::map<std::string, uint64_t> by_source;
    for (const auto& [what, count] : sink_.losses()) {
      by_source[name(what.first)] += count;
    }
    text += ", lost:";
    const char* separator = " ";
    for (const auto& [source, count] : by_source) {
      text += fmt::format("{}{} ({})", separator, grouped(count), source);
      separator = ", ";
    }
  }
  return text + ", tier " + tier_name(plan_, sampler_ && sampler_->samples() > 0);
}

}  // namespace kvet::record
