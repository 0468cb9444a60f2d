#include "probes/activity/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include <map>
#include <vector>

// The skeleton is C: it has the kernel configuration that libbpf's USDT support asks for as a _Bool.
#define _Bool bool  // NOLINT(bugprone-reserved-identifier)
#include "bpf/activity.skel.h"
#include "probes/kernel/ring.h"
#undef _Bool

namespace kvet::probes {
namespace {

struct SkeletonDeleter {
  void operator()(activity_bpf* skeleton) const { activity_bpf__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<activity_bpf, SkeletonDeleter>;

// A loaded skeleton, or nullptr with errno.
Skeleton load_skeleton(const ActivityProbe::Options& options, bool sleepable) {
  Skeleton skeleton{activity_bpf__open()};
  if (!skeleton) {
    return nullptr;
  }
  bpf_map__set_max_entries(skeleton->maps.batches, options.ring_bytes);
  skeleton->rodata->namespace_number = own_pid_namespace();
  if (options.targets != nullptr) {
    skeleton->rodata->only_targets = true;
    if (const int error = bpf_map__reuse_fd(skeleton->maps.targets, options.targets->descriptor()); error != 0) {
      errno = -error;
      return nullptr;
    }
  }
  bpf_program__set_autoload(skeleton->progs.batch_sleepable, sleepable);
  bpf_program__set_autoload(skeleton->progs.batch_plain, !sleepable);
  if (const int error = activity_bpf__load(skeleton.get()); error != 0) {
    errno = -error;
    return nullptr;
  }
  return skeleton;
}

struct LinkDeleter {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};

}  // namespace

struct ActivityProbe::Implementation {
  Skeleton skeleton;
  bool sleepable = false;
  // After the skeleton, so that links go before the programs that they hold.
  std::map<int, std::unique_ptr<bpf_link, LinkDeleter>> links;
  int next_attachment = 1;

  [[nodiscard]] bpf_program* program() const {
    return sleepable ? skeleton->progs.batch_sleepable : skeleton->progs.batch_plain;
  }
};

ActivityProbe::ActivityProbe() : implementation_(std::make_unique<Implementation>()) {}
ActivityProbe::ActivityProbe(ActivityProbe&&) noexcept = default;
ActivityProbe& ActivityProbe::operator=(ActivityProbe&&) noexcept = default;
ActivityProbe::~ActivityProbe() = default;

Result<ActivityProbe> ActivityProbe::load(Options options) {
  ActivityProbe probe;
  if (options.sleepable) {
    probe.implementation_->skeleton = load_skeleton(options, true);
    probe.implementation_->sleepable = probe.implementation_->skeleton != nullptr;
  }
  if (!probe.implementation_->skeleton) {
    probe.implementation_->skeleton = load_skeleton(options, false);
  }
  if (!probe.implementation_->skeleton) {
    return fail(ErrorKind::unavailable, std::string("the kernel refused the BPF program: ") + strerror(errno),
                "activity probe", "run as root or with CAP_BPF and CAP_PERFMON; `kvet doctor` says what is missing");
  }
  return probe;
}

Result<int> ActivityProbe::attach(const std::string& path, int pid) {
  Implementation& self = *implementation_;
  bpf_link* link = bpf_program__attach_usdt(self.program(), pid, path.c_str(), "kvet", "batch", nullptr);
  if (link == nullptr) {
    return fail(ErrorKind::unavailable, std::string("cannot attach to the probe kvet:batch: ") + strerror(errno), path,
                "check that the file is kvet's injected library and that uprobes are allowed here");
  }
  self.links.emplace(self.next_attachment, link);
  return self.next_attachment++;
}

void ActivityProbe::detach(int attachment) { implementation_->links.erase(attachment); }

int ActivityProbe::ring_descriptor() const { return bpf_map__fd(implementation_->skeleton->maps.batches); }

bool ActivityProbe::sleepable() const { return implementation_->sleepable; }

std::array<uint64_t, KVET_COUNTER_LIMIT> ActivityProbe::counters() const {
  std::array<uint64_t, KVET_COUNTER_LIMIT> sums{};
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) {
    return sums;
  }
  std::vector<uint64_t> values(static_cast<size_t>(cpus));
  const int map = bpf_map__fd(implementation_->skeleton->maps.counters);
  for (uint32_t counter = 0; counter < KVET_COUNTER_LIMIT; ++counter) {
    if (bpf_map_lookup_elem(map, &counter, values.data()) == 0) {
      for (const uint64_t value : values) {
        sums[counter] += value;
      }
    }
  }
  return sums;
}

uint64_t ActivityProbe::missed_recursions() const {
  bpf_prog_info info{};
  uint32_t size = sizeof(info);
  const int program = bpf_program__fd(implementation_->program());
  return bpf_obj_get_info_by_fd(program, &info, &size) == 0 ? info.recursion_misses : 0;
}

}  // namespace kvet::probes
