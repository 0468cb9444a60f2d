// The CPU quota that a process lives under: a thread that has used it up is runnable, and nobody takes its CPU.
#pragma once

#include <optional>
#include <string>

#include "capability/system.h"

namespace kvet::capability {

struct CpuQuota {
  double cpus = 0;     // quota ÷ period
  std::string cgroup;  // the group that sets it
};
// The tightest quota of this process's group and the groups above it, cgroup v2 or v1. Empty: none is set.
[[nodiscard]] std::optional<CpuQuota> cpu_quota(const System& system);

}  // namespace kvet::capability
