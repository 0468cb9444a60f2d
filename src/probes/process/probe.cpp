#include "probes/process/probe.h"

#include "bpf/process.skel.h"
#include "probes/kernel/skeleton.h"

namespace kvet::probes {

struct ProcessProbe::Implementation {
  SkeletonPointer<process_bpf> skeleton;
  std::unique_ptr<RingReader> reader;
};

ProcessProbe::ProcessProbe() : implementation_(std::make_unique<Implementation>()) {}
ProcessProbe::ProcessProbe(ProcessProbe&&) noexcept = default;
ProcessProbe& ProcessProbe::operator=(ProcessProbe&&) noexcept = default;
ProcessProbe::~ProcessProbe() = default;

Result<ProcessProbe> ProcessProbe::load(const TargetMap& targets, RingReader::Handler handler) {
  ProcessProbe probe;
  auto skeleton = load_skeleton<process_bpf>("processes", targets.descriptor(), [](process_bpf&) {});
  if (!skeleton) {
    return std::unexpected(skeleton.error());
  }
  probe.implementation_->skeleton = std::move(*skeleton);
  auto reader = RingReader::open(bpf_map__fd(probe.implementation_->skeleton->maps.events), std::move(handler));
  if (!reader) {
    return std::unexpected(reader.error());
  }
  probe.implementation_->reader = std::make_unique<RingReader>(std::move(*reader));
  return probe;
}

Result<void> ProcessProbe::attach() {
  const LibbpfMessages said;
  const int error = process_bpf::attach(implementation_->skeleton.get());
  if (error != 0) {
    return std::unexpected(bpf_error("attaching the eBPF program", "processes", -error, said));
  }
  return {};
}

void ProcessProbe::detach() { process_bpf::detach(implementation_->skeleton.get()); }
size_t ProcessProbe::poll() { return implementation_->reader->poll(); }
int ProcessProbe::descriptor() const { return implementation_->reader->descriptor(); }
BpfCounters ProcessProbe::counters() const {
  return read_counters(bpf_map__fd(implementation_->skeleton->maps.counters));
}

}  // namespace kvet::probes
