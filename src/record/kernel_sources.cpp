#include "record/kernel_sources.h"

#include <unistd.h>

#include <cstring>

#include "record/process_facts.h"
#include "record/uprobe_link.h"

namespace kvet::record {

KernelSources::KernelSources(EventSink& sink, probes::ProcessDirectory& processes)
    : processes_(processes),
      sched_decoder_(sink, processes),
      launch_decoder_(sink, processes),
      nccl_decoder_(sink, processes) {}

Result<std::unique_ptr<KernelSources>> KernelSources::load(EventSink& sink, probes::ProcessDirectory& processes) {
  if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
    return fail(ErrorKind::unavailable, "this kernel has no type information (/sys/kernel/btf/vmlinux)", "eBPF",
                "boot a kernel that is built with CONFIG_DEBUG_INFO_BTF=y");
  }
  std::unique_ptr<KernelSources> sources(new KernelSources(sink, processes));
  auto targets = probes::TargetMap::create();
  if (!targets) {
    return std::unexpected(targets.error());
  }
  sources->targets_.emplace(std::move(*targets));
  auto watcher = Watcher::create(*sources->targets_);
  if (!watcher) {
    return std::unexpected(watcher.error());
  }
  sources->watcher_ = std::move(*watcher);
  return sources;
}

void KernelSources::drop(const std::string& source, const std::string& why) { dropped_.emplace_back(source, why); }

void KernelSources::load_programs(probes::ActivityDecoder* activity, const std::string& library) {
  const probes::UprobeWay way = best_uprobe_way();
  auto sched =
      probes::SchedProbe::load(*targets_, [this](std::span<const std::byte> event) { sched_decoder_.decode(event); });
  if (sched) {
    sched_.emplace(std::move(*sched));
  } else {
    drop("sched", sched.error().message());
  }
  auto launch = probes::LaunchProbe::load(*targets_, way, activity != nullptr,
                                          [this](std::span<const std::byte> event) { launch_decoder_.decode(event); });
  if (launch) {
    launch_.emplace(std::move(*launch));
    launch_program_ = launch_->program();
    launch_returns_ = launch_->returns_program();
  } else {
    drop("launch", launch.error().message());
  }
  auto nccl = probes::NcclProbe::load(*targets_, way,
                                      [this](std::span<const std::byte> event) { nccl_decoder_.decode(event); });
  if (nccl) {
    nccl_.emplace(std::move(*nccl));
    nccl_program_ = nccl_->program();
  } else {
    drop("nccl", nccl.error().message());
  }
  if (activity != nullptr) {
    load_activity(*activity, library);
  }
  watcher_->set_programs({.cuda = launch_ ? &launch_program_ : nullptr,
                          .nccl = nccl_ ? &nccl_program_ : nullptr,
                          .activity = activity_probe_ ? &*activity_probe_ : nullptr,
                          .activity_file = library,
                          .cuda_returns = launch_ ? &launch_returns_ : nullptr,
                          .send_launches_of = [this](int pid) { launch_->send_events_of(pid); }});
}

void KernelSources::load_activity(probes::ActivityDecoder& activity, const std::string& library) {
  probes::ActivityProbe::Options options;
  options.targets = &*targets_;
  auto probe = probes::ActivityProbe::load(options);
  if (!probe) {
    drop("activity", probe.error().message());
    return;
  }
  // Once, for whoever will map this file: a target finds its reader there from its first instruction on.
  if (auto attached = probe->attach(library); !attached) {
    drop("activity", attached.error().message());
    return;
  }
  activity_probe_.emplace(std::move(*probe));
  auto reader =
      probes::RingReader::open(activity_probe_->ring_descriptor(), [this, &activity](std::span<const std::byte> event) {
        kvet_event_header header;
        if (event.size() >= sizeof header) {
          std::memcpy(&header, event.data(), sizeof header);
          activity.decode_event(
              processes_.at(static_cast<int32_t>(header.process_id), static_cast<int64_t>(header.time_ns)), event);
        }
      });
  if (!reader) {
    drop("activity", reader.error().message());
    activity_probe_.reset();
    return;
  }
  activity_reader_.emplace(std::move(*reader));
}

Result<void> KernelSources::start(const std::vector<int>& processes,
                                  const std::vector<std::string>& expected_libraries) {
  descriptors_.raise();
  for (const int pid : processes) {
    if (auto added = targets_->add(pid); !added) {
      return added;
    }
  }
  if (sched_) {
    if (auto attached = sched_->attach(); !attached) {
      drop("sched", attached.error().message());
      sched_.reset();
    }
  }
  return watcher_->start(processes, expected_libraries);
}

void KernelSources::poll() {
  if (activity_reader_) {
    activity_reader_->poll();
  }
  if (launch_) {
    launch_->poll();
  }
  if (nccl_) {
    nccl_->poll();
  }
  if (sched_) {
    sched_->poll();
  }
}

void KernelSources::report_losses(LossLedger& losses, int64_t now_ns) {
  if (sched_) {
    losses.report(Source::scheduler, sched_->counters(), now_ns);
  }
  if (launch_) {
    losses.report(Source::uprobe, launch_->counters(), now_ns);
  }
  if (nccl_) {
    losses.report(Source::nccl, nccl_->counters(), now_ns);
  }
  losses.report(Source::recorder, watcher_->counters(), now_ns);
  const uint64_t rejected = sched_decoder_.rejected() + launch_decoder_.rejected() + nccl_decoder_.rejected();
  losses.report(Source::recorder, LossKind::unknown_record, rejected, now_ns);
}

void KernelSources::stop() {
  watcher_->stop();
  if (sched_) {
    sched_->detach();
  }
}

uint64_t KernelSources::launches() const { return launch_ ? launch_->counters()[KVET_COUNTER_LAUNCHES] : 0; }
uint64_t KernelSources::captured_launches() const {
  return launch_ ? launch_->counters()[KVET_COUNTER_CAPTURED_LAUNCHES] : 0;
}
probes::BpfCounters KernelSources::activity_counters() const {
  return activity_probe_ ? activity_probe_->counters() : probes::BpfCounters{};
}
uint64_t KernelSources::missed_batches() const { return activity_probe_ ? activity_probe_->missed_recursions() : 0; }
void KernelSources::forget_process(int32_t pid) {
  if (launch_) {
    launch_->forget(pid);
  }
}

}  // namespace kvet::record
