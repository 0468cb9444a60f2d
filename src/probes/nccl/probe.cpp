#include "probes/nccl/probe.h"

#include "bpf/nccl.skel.h"
#include "probes/kernel/skeleton.h"
#include "probes/nccl/functions.h"

namespace kvet::probes {

struct NcclProbe::Implementation {
  SkeletonPointer<nccl_bpf> skeleton;
  std::unique_ptr<RingReader> reader;
  UprobeWay way = UprobeWay::single;
};

NcclProbe::NcclProbe() : implementation_(std::make_unique<Implementation>()) {}
NcclProbe::NcclProbe(NcclProbe&&) noexcept = default;
NcclProbe& NcclProbe::operator=(NcclProbe&&) noexcept = default;
NcclProbe::~NcclProbe() = default;

Result<NcclProbe> NcclProbe::load(const TargetMap& targets, UprobeWay way, RingReader::Handler handler) {
  NcclProbe probe;
  auto skeleton = load_skeleton<nccl_bpf>("NCCL", targets.descriptor(), [&](nccl_bpf& opened) {
    set_uprobe_way(opened.progs.nccl_entry, way);
    set_uprobe_way(opened.progs.nccl_return, way);
  });
  if (!skeleton) {
    return std::unexpected(skeleton.error());
  }
  probe.implementation_->skeleton = std::move(*skeleton);
  probe.implementation_->way = way;
  auto reader = RingReader::open(bpf_map__fd(probe.implementation_->skeleton->maps.events), std::move(handler));
  if (!reader) {
    return std::unexpected(reader.error());
  }
  probe.implementation_->reader = std::make_unique<RingReader>(std::move(*reader));
  return probe;
}

UprobeProgram NcclProbe::program() const {
  const auto& programs = implementation_->skeleton->progs;
  return {bpf_program__fd(programs.nccl_entry), bpf_program__fd(programs.nccl_return), implementation_->way,
          nccl_functions()};
}

size_t NcclProbe::poll() { return implementation_->reader->poll(); }

BpfCounters NcclProbe::counters() const { return read_counters(bpf_map__fd(implementation_->skeleton->maps.counters)); }

}  // namespace kvet::probes
