#include "probes/launch/probe.h"

#include <bpf/bpf.h>

#include "bpf/launch.skel.h"
#include "probes/kernel/skeleton.h"
#include "probes/launch/functions.h"

namespace kvet::probes {

namespace {
// As `struct launch_count` of launch.bpf.c.
struct LaunchCount {
  uint64_t launches = 0, captured = 0;
};
}  // namespace

struct LaunchProbe::Implementation {
  SkeletonPointer<launch_bpf> skeleton;
  std::unique_ptr<RingReader> reader;
  UprobeWay way = UprobeWay::single;
  bool count_only = false;

  [[nodiscard]] int counts() const { return bpf_map__fd(skeleton->maps.launch_counts); }
};

LaunchProbe::LaunchProbe() : implementation_(std::make_unique<Implementation>()) {}
LaunchProbe::LaunchProbe(LaunchProbe&&) noexcept = default;
LaunchProbe& LaunchProbe::operator=(LaunchProbe&&) noexcept = default;
LaunchProbe::~LaunchProbe() = default;

Result<LaunchProbe> LaunchProbe::load(const TargetMap& targets, UprobeWay way, bool count_only,
                                      RingReader::Handler handler) {
  LaunchProbe probe;
  auto skeleton = load_skeleton<launch_bpf>("launches", targets.descriptor(), [&](launch_bpf& opened) {
    opened.rodata->count_only = count_only ? 1 : 0;
    set_uprobe_way(opened.progs.launch_entry, way);
    set_uprobe_way(opened.progs.launch_return, way);
  });
  if (!skeleton) {
    return std::unexpected(skeleton.error());
  }
  probe.implementation_->skeleton = std::move(*skeleton);
  probe.implementation_->way = way;
  probe.implementation_->count_only = count_only;
  auto reader = RingReader::open(bpf_map__fd(probe.implementation_->skeleton->maps.events), std::move(handler));
  if (!reader) {
    return std::unexpected(reader.error());
  }
  probe.implementation_->reader = std::make_unique<RingReader>(std::move(*reader));
  return probe;
}

UprobeProgram LaunchProbe::program() const {
  const auto& programs = implementation_->skeleton->progs;
  return {bpf_program__fd(programs.launch_entry), bpf_program__fd(programs.launch_return), implementation_->way,
          launch_functions(implementation_->count_only)};
}

UprobeProgram LaunchProbe::returns_program() const {
  return {-1, bpf_program__fd(implementation_->skeleton->progs.launch_return), implementation_->way, launch_returns()};
}

void LaunchProbe::send_events_of(int32_t pid) {
  const auto key = static_cast<uint32_t>(pid);
  const uint32_t present = 1;
  bpf_map_update_elem(bpf_map__fd(implementation_->skeleton->maps.event_processes), &key, &present, BPF_ANY);
}

size_t LaunchProbe::poll() { return implementation_->reader->poll(); }

BpfCounters LaunchProbe::counters() const {
  return read_counters(bpf_map__fd(implementation_->skeleton->maps.counters));
}

std::vector<LaunchProbe::Count> LaunchProbe::launches_by_process() const {
  std::vector<Count> all;
  uint32_t key = 0, next = 0;
  const uint32_t* previous = nullptr;
  while (bpf_map_get_next_key(implementation_->counts(), previous, &next) == 0) {
    LaunchCount value;
    if (bpf_map_lookup_elem(implementation_->counts(), &next, &value) == 0) {
      all.push_back({static_cast<int32_t>(next), value.launches, value.captured});
    }
    key = next;
    previous = &key;
  }
  return all;
}

LaunchProbe::Count LaunchProbe::forget(int32_t pid) {
  const auto key = static_cast<uint32_t>(pid);
  LaunchCount value;
  if (bpf_map_lookup_elem(implementation_->counts(), &key, &value) == 0) {
    bpf_map_delete_elem(implementation_->counts(), &key);
  }
  // A capture that was going on at the end must not mark the launches of the next process with this pid.
  bpf_map_delete_elem(bpf_map__fd(implementation_->skeleton->maps.capturing_processes), &key);
  bpf_map_delete_elem(bpf_map__fd(implementation_->skeleton->maps.event_processes), &key);
  return {pid, value.launches, value.captured};
}

}  // namespace kvet::probes
