// Opens and loads a libbpf skeleton so that every probe does it alike: the shared map of targets put in, the reason kept
// when the kernel refuses. For the one .cpp of a probe that includes its skeleton.
#pragma once

#include <bpf/libbpf.h>

#include <cerrno>
#include <memory>
#include <string>

#include "probes/kernel/probed_function.h"
#include "probes/kernel/ring.h"

namespace kvet::probes {

template <class Skeleton>
struct DestroySkeleton {
  void operator()(Skeleton* skeleton) const { Skeleton::destroy(skeleton); }
};
template <class Skeleton>
using SkeletonPointer = std::unique_ptr<Skeleton, DestroySkeleton<Skeleton>>;

// Which pid namespace the recorder is in, for the programs' ids (kernel/ids.bpf.h).
template <class Skeleton>
void set_namespace(Skeleton& skeleton) {
  skeleton.rodata->namespace_number = own_pid_namespace();
}

// `prepare(skeleton)` runs between opening and loading: constants, attach types.
template <class Skeleton, class Prepare>
Result<SkeletonPointer<Skeleton>> load_skeleton(const std::string& name, int targets_descriptor, Prepare prepare) {
  const LibbpfMessages said;
  SkeletonPointer<Skeleton> skeleton(Skeleton::open());
  if (!skeleton) {
    return std::unexpected(bpf_error("opening the eBPF program", name, errno, said));
  }
  int error = bpf_map__reuse_fd(skeleton->maps.targets, targets_descriptor);
  if (error == 0) {
    set_namespace(*skeleton);
    prepare(*skeleton);
    error = Skeleton::load(skeleton.get());
  }
  if (error != 0) {
    return std::unexpected(bpf_error("loading the eBPF program", name, -error, said));
  }
  return skeleton;
}

inline void set_uprobe_way(bpf_program* program, UprobeWay way) {
  if (way == UprobeWay::multi) {
    bpf_program__set_expected_attach_type(program, static_cast<bpf_attach_type>(attach_type_uprobe_multi));
  }
}

}  // namespace kvet::probes
