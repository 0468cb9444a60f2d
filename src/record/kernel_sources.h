// The eBPF half of a recording: every program, loaded, attached, read and decoded. What does not load is dropped and
// named; only following the target at all is indispensable.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/event_sink.h"
#include "probes/activity/decode.h"
#include "probes/activity/probe.h"
#include "probes/kernel/ring.h"
#include "probes/launch/decode.h"
#include "probes/launch/probe.h"
#include "probes/nccl/decode.h"
#include "probes/nccl/probe.h"
#include "probes/process/process_directory.h"
#include "probes/sched/decode.h"
#include "probes/sched/probe.h"
#include "record/descriptor_limit.h"
#include "record/loss_ledger.h"
#include "record/watcher.h"

namespace kvet::record {

class KernelSources {
 public:
  // Errors: unavailable, when processes cannot be followed.
  static Result<std::unique_ptr<KernelSources>> load(EventSink& sink, probes::ProcessDirectory& processes);

  // The other programs. `activity` set: the device tier, in which launches are only counted; `library` is then the file
  // that is injected.
  void load_programs(probes::ActivityDecoder* activity, const std::string& library);
  // Follows these processes from now on.
  Result<void> start(const std::vector<int>& processes, const std::vector<std::string>& expected_libraries);

  [[nodiscard]] std::vector<News> take_news() { return watcher_->take_news(); }
  // Reads all rings once.
  void poll();
  void report_losses(LossLedger& losses, int64_t now_ns);
  // No more attaching and no more context switches; what is in the rings can still be read.
  void stop();

  // Sources that could not be loaded or attached, as (name, why).
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& dropped() const { return dropped_; }
  void drop(const std::string& source, const std::string& why);

  [[nodiscard]] bool has_activity() const { return activity_probe_.has_value(); }
  // Launches that the uprobes counted, of all processes.
  [[nodiscard]] uint64_t launches() const;
  [[nodiscard]] uint64_t captured_launches() const;
  [[nodiscard]] probes::BpfCounters activity_counters() const;
  [[nodiscard]] uint64_t missed_batches() const;
  [[nodiscard]] int64_t longest_attach_delay_ns() const { return watcher_->longest_attach_delay_ns(); }
  void forget_process(int32_t pid);

 private:
  KernelSources(EventSink& sink, probes::ProcessDirectory& processes);
  void load_activity(probes::ActivityDecoder& activity, const std::string& library);

  DescriptorLimit descriptors_;
  probes::ProcessDirectory& processes_;
  probes::SchedDecoder sched_decoder_;
  probes::LaunchDecoder launch_decoder_;
  probes::NcclDecoder nccl_decoder_;
  std::optional<probes::TargetMap> targets_;
  std::optional<probes::SchedProbe> sched_;
  std::optional<probes::LaunchProbe> launch_;
  std::optional<probes::NcclProbe> nccl_;
  std::optional<probes::ActivityProbe> activity_probe_;
  std::optional<probes::RingReader> activity_reader_;
  probes::UprobeProgram launch_program_, launch_returns_, nccl_program_;
  std::vector<std::pair<std::string, std::string>> dropped_;
  std::unique_ptr<Watcher> watcher_;  // last: its thread uses the programs above
};

}  // namespace kvet::record
