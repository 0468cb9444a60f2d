#include "probes/sched/probe.h"

#include <bpf/btf.h>

#include "bpf/sched.skel.h"
#include "probes/kernel/skeleton.h"

namespace kvet::probes {

namespace {

// The tracepoint's function type has the arguments (data, preempt, previous, next) and since Linux 5.18 the state.
bool switch_tells_state() {
  btf* types = btf__load_vmlinux_btf();
  if (types == nullptr) {
    return false;
  }
  bool tells = false;
  const int id = btf__find_by_name_kind(types, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
  if (id > 0) {
    const btf_type* type = btf__type_by_id(types, btf__type_by_id(types, static_cast<uint32_t>(id))->type);
    if (type != nullptr && btf_is_ptr(type)) {
      type = btf__type_by_id(types, type->type);
    }
    tells = type != nullptr && btf_is_func_proto(type) && btf_vlen(type) >= 5;
  }
  btf__free(types);
  return tells;
}

}  // namespace

struct SchedProbe::Implementation {
  SkeletonPointer<sched_bpf> skeleton;
  std::unique_ptr<RingReader> reader;
};

SchedProbe::SchedProbe() : implementation_(std::make_unique<Implementation>()) {}
SchedProbe::SchedProbe(SchedProbe&&) noexcept = default;
SchedProbe& SchedProbe::operator=(SchedProbe&&) noexcept = default;
SchedProbe::~SchedProbe() = default;

Result<SchedProbe> SchedProbe::load(const TargetMap& targets, RingReader::Handler handler) {
  SchedProbe probe;
  auto skeleton = load_skeleton<sched_bpf>("scheduler", targets.descriptor(), [](sched_bpf& opened) {
    opened.rodata->has_state_argument = switch_tells_state() ? 1 : 0;
  });
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

Result<void> SchedProbe::attach() {
  const LibbpfMessages said;
  const int error = sched_bpf::attach(implementation_->skeleton.get());
  if (error != 0) {
    return std::unexpected(bpf_error("attaching the eBPF program", "scheduler", -error, said));
  }
  return {};
}

void SchedProbe::detach() { sched_bpf::detach(implementation_->skeleton.get()); }
size_t SchedProbe::poll() { return implementation_->reader->poll(); }
BpfCounters SchedProbe::counters() const {
  return read_counters(bpf_map__fd(implementation_->skeleton->maps.counters));
}

}  // namespace kvet::probes
