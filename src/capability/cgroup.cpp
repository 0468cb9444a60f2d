#include "capability/cgroup.h"

#include <algorithm>

#include "base/text.h"

namespace kvet::capability {

namespace {

// v2: "max 100000" or "150000 100000" (Documentation/admin-guide/cgroup-v2.rst).
std::optional<double> quota_v2(const System& system, const std::string& folder) {
  const auto text = system.read(folder + "/cpu.max");
  if (!text) {
    return std::nullopt;
  }
  const auto parts = split(trimmed(*text), ' ');
  const auto quota = whole_number(parts[0]);
  const auto period = parts.size() > 1 ? whole_number(parts[1]) : std::nullopt;
  if (!quota || !period || *quota <= 0 || *period <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

// v1: a quota of −1 is none (Documentation/scheduler/sched-bwc.rst).
std::optional<double> quota_v1(const System& system, const std::string& folder) {
  const auto quota = whole_number(system.read(folder + "/cpu.cfs_quota_us").value_or(""));
  const auto period = whole_number(system.read(folder + "/cpu.cfs_period_us").value_or(""));
  if (!quota || !period || *quota <= 0 || *period <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

// From the group up to the root of the hierarchy.
template <class Quota>
void tightest(const System& system, const std::string& mount, std::string group, Quota quota,
              std::optional<CpuQuota>& best) {
  for (;;) {
    if (const auto cpus = quota(system, mount + (group == "/" ? "" : group)); cpus && (!best || *cpus < best->cpus)) {
      best = CpuQuota{*cpus, group};
    }
    if (group.size() <= 1) {
      return;
    }
    const size_t slash = group.rfind('/');
    group = slash == 0 || slash == std::string::npos ? "/" : group.substr(0, slash);
  }
}

}  // namespace

std::optional<CpuQuota> cpu_quota(const System& system) {
  std::optional<CpuQuota> best;
  // "0::/path" for v2, "4:cpu,cpuacct:/path" for v1.
  const std::string groups = system.read("/proc/self/cgroup").value_or("");  // the lines are views of it
  for (std::string_view line : split(groups, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3 || !parts[2].starts_with('/')) {
      continue;
    }
    const std::string group(line.substr(parts[0].size() + parts[1].size() + 2));
    if (parts[0] == "0" && parts[1].empty()) {
      tightest(system, "/sys/fs/cgroup", group, quota_v2, best);
      continue;
    }
    const auto controllers = split(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "cpu") != controllers.end()) {
      for (const std::string& mount : {"/sys/fs/cgroup/" + std::string(parts[1]), std::string("/sys/fs/cgroup/cpu")}) {
        if (system.exists(mount)) {
          tightest(system, mount, group, quota_v1, best);
          break;
        }
      }
    }
  }
  return best;
}

}  // namespace kvet::capability
