#include "capability/assess.h"

#include <fmt/core.h>

#include <cerrno>

#include "capability/cgroup.h"
#include "capability/privileges.h"

namespace kvet::capability {

namespace {

State state(bool present) { return present ? State::present : State::absent; }

// Collects requirements; a fix is kept only where something is missing.
class List {
 public:
  void add(Requirement requirement) {
    if (requirement.state == State::present) {
      requirement.fix.clear();
    }
    requirements_.push_back(std::move(requirement));
  }
  [[nodiscard]] std::vector<Requirement> take() { return std::move(requirements_); }

 private:
  std::vector<Requirement> requirements_;
};

constexpr const char* become_root = "Run kvet with sudo (commands that it starts still run as you)";

State tried(int error_number) {
  return error_number == 0 ? State::present : error_number < 0 ? State::unknown : State::absent;
}

bool refused(int error_number) { return error_number == EPERM || error_number == EACCES; }

void add_host(const System& system, const BpfTrial& trial, List& list) {
  const auto rights = privileges(system);
  list.add({"host.privileges", Part::host, "root, or CAP_BPF and CAP_PERFMON",
            rights ? state(rights->bpf && rights->perfmon) : State::unknown, true,
            !rights                          ? "/proc/self/status says nothing about capabilities"
            : rights->administrator          ? "administrator"
            : rights->bpf && rights->perfmon ? "CAP_BPF and CAP_PERFMON"
            : rights->bpf                    ? "CAP_BPF alone"
            : rights->perfmon                ? "CAP_PERFMON alone"
                                             : "neither",
            "eBPF programs see launches, the scheduler and NCCL calls", become_root});
  list.add({"host.btf", Part::host, "kernel type information (BTF)", state(system.exists("/sys/kernel/btf/vmlinux")),
            true, system.exists("/sys/kernel/btf/vmlinux") ? "/sys/kernel/btf/vmlinux" : "no /sys/kernel/btf/vmlinux",
            "one build of the eBPF programs fits every kernel",
            "Use a kernel with CONFIG_DEBUG_INFO_BTF=y: every distribution's since 2021"});
  list.add({"host.bpf", Part::host, "bpf(2) loads a program", tried(trial.load), true, explain(trial.load),
            "nothing of the host side can be seen without",
            refused(trial.load)
                ? std::string(become_root) +
                      ". As root already: the container lacks CAP_BPF, or kernel lockdown is on; start it with "
                      "--cap-add BPF --cap-add PERFMON"
                : "Use Linux 5.8 or newer, and look for bpf in the container's seccomp profile"});
  list.add({"host.ring_buffer", Part::host, "BPF ring buffer", tried(trial.ring_buffer), true,
            explain(trial.ring_buffer), "it carries the records from the kernel to the recorder",
            refused(trial.ring_buffer) ? become_root : "Use Linux 5.8 or newer"});
  list.add({"host.raw_tracepoint", Part::host, "raw tracepoint sched_switch", tried(trial.raw_tracepoint), true,
            explain(trial.raw_tracepoint), "off-CPU time: who was taken off the CPU, when and why",
            refused(trial.raw_tracepoint) ? become_root : "Use a kernel with CONFIG_TRACEPOINTS"});
  const bool device = system.exists("/sys/bus/event_source/devices/uprobe/type");
  list.add({"host.uprobe", Part::host, "uprobes, USDT probes", device ? tried(trial.uprobe) : State::absent, true,
            device ? explain(trial.uprobe) : "no /sys/bus/event_source/devices/uprobe",
            "launches, NCCL calls, and the way of the records out of the target",
            device ? become_root : "Use a kernel with CONFIG_UPROBE_EVENTS; in a container, mount /sys"});
  const bool semaphores = system.exists("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset");
  list.add({"host.usdt", Part::host, "USDT semaphores", state(semaphores), true,
            semaphores ? "uprobes count references" : "no /sys/bus/event_source/devices/uprobe/format/ref_ctr_offset",
            "the library in the target sees by them whether anybody listens", "Use Linux 4.20 or newer"});
  const bool tracefs = system.exists("/sys/kernel/tracing/events") || system.exists("/sys/kernel/debug/tracing/events");
  list.add({"host.tracefs", Part::host, "tracefs", state(tracefs), false, tracefs ? "mounted" : "not mounted",
            "not used: kvet attaches without it", ""});
  const auto paranoid = whole_number(system.read("/proc/sys/kernel/perf_event_paranoid").value_or(""));
  list.add({"host.perf_event_paranoid", Part::host, "perf_event_paranoid", State::present, false,
            paranoid ? fmt::format("{}", *paranoid) : "not readable",
            "of no effect with CAP_PERFMON; without it no value lets uprobes through", ""});
}

void add_device(const System& system, const Assessment& assessment, List& list) {
  const bool driver = !assessment.driver.version.empty();
  list.add({"device.driver", Part::device, "NVIDIA driver", state(driver), true,
            driver ? assessment.driver.version : "not loaded", "without it there is nothing to record",
            "Install NVIDIA's driver; in a container, start it with --gpus all"});
  const auto& gpus = assessment.driver.gpus;
  std::string seen = gpus.empty() ? "none" : fmt::format("{} × {}", gpus.size(), gpus[0].model);
  for (const Gpu& gpu : gpus) {
    if (gpu.model != gpus[0].model) {
      seen = fmt::format("{}, of several models", gpus.size());
    }
  }
  list.add({"device.gpu", Part::device, "GPU", state(!gpus.empty()), true, seen, "what is recorded",
            "Run on a machine with an NVIDIA GPU; in a container, start it with --gpus all"});
  list.add(
      {"device.libcuda", Part::device, "libcuda", state(!assessment.libcuda.empty()), true,
       assessment.libcuda.empty() ? "not found" : assessment.libcuda[0].path + " (" + assessment.libcuda[0].how + ")",
       "programs launch through it, and it loads the recording library",
       "It comes with the driver; in a container, start it with --gpus all"});
  const auto& cupti = assessment.libcupti;
  list.add({"device.libcupti", Part::device, "libcupti", state(!cupti.empty()), true,
            cupti.empty()       ? "not found"
            : cupti.size() == 1 ? fmt::format("{} ({})", cupti[0].path, cupti[0].how)
                                : fmt::format("{} ({}), and {} more", cupti[0].path, cupti[0].how, cupti.size() - 1),
            "executions, kernel names and shapes, in the target itself. One that the program maps itself comes first",
            "Install CUPTI: `pip install nvidia-cuda-cupti-cu12` beside the program, or the CUDA toolkit"});
  const std::string_view taken = system.variable("CUDA_INJECTION64_PATH");
  list.add({"device.injection", Part::device, "CUDA_INJECTION64_PATH is free", state(taken.empty()), true,
            taken.empty() ? "not set" : "taken by " + std::string(taken),
            "the driver loads the recording library through it; kvet never replaces another tool",
            "Stop the tool that set it, or unset CUDA_INJECTION64_PATH for the recording"});
  const auto scope = whole_number(system.read("/proc/sys/kernel/yama/ptrace_scope").value_or(""));
  const auto rights = privileges(system);
  const bool may_trace = !scope || *scope <= 1 || (*scope == 2 && rights && rights->trace_others);
  list.add({"device.ptrace", Part::device, "reading the target's memory", state(may_trace), false,
            !scope ? "no Yama" : fmt::format("kernel.yama.ptrace_scope = {}", *scope),
            "kernel names are read from the target when they are first seen",
            scope && *scope == 3 ? "kernel.yama.ptrace_scope = 3 lasts until the next start of the machine"
                                 : "sysctl kernel.yama.ptrace_scope=1, or run as root"});
}

void add_counters(const System& system, const Assessment& assessment, List& list) {
  const auto only = assessment.driver.counters_for_administrators_only;
  const auto rights = privileges(system);
  const bool administrator = rights && rights->administrator;
  list.add({"counters.permitted", Part::counters, "performance counters permitted",
            administrator && !assessment.driver.version.empty() ? State::present
            : !only                                             ? State::unknown
                                                                : state(!*only),
            true,
            !only           ? "no /proc/driver/nvidia/params"
            : !*only        ? "for everybody"
            : administrator ? "for administrators, such as this user"
                            : "for administrators only (RmProfilingAdminOnly: 1)",
            "occupancy, DRAM throughput and clocks",
            "Run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0 (a file in /etc/modprobe.d, "
            "then restart)"});
  list.add({"counters.libcupti", Part::counters, "libcupti for the recorder", state(!assessment.libcupti.empty()), true,
            assessment.libcupti.empty() ? "not found" : assessment.libcupti[0].path,
            "the counters are sampled through it, outside of the target",
            "Install CUPTI of CUDA 12.6 or newer, or name it in KVET_CUPTI_PATH"});
}

void add_context(const System& system, List& list) {
  const auto quota = cpu_quota(system);
  list.add({"context.cpu_quota", Part::context, "no CPU quota", state(!quota), false,
            quota ? fmt::format("{:.2f} CPUs, set by {}", quota->cpus, quota->cgroup) : "none",
            "a dispatcher that has used its quota up starves the GPU; reported as throttled",
            "Raise the quota if production has none: figures taken under it are about it"});
}

}  // namespace

const char* name(Tier tier) {
  switch (tier) {
    case Tier::none: return "none";
    case Tier::unprivileged: return "unprivileged";
    case Tier::host: return "host";
    case Tier::host_counters: return "host+counters";
    case Tier::device: return "device";
    case Tier::full: return "full";
  }
  return "?";
}

const char* gives(Tier tier) {
  switch (tier) {
    case Tier::none: return "nothing can be recorded";
    case Tier::unprivileged: return "executions, names, graph nodes, theoretical occupancy; verdict on device time";
    case Tier::host: return "launches, off-CPU time, NCCL calls; no kernel names";
    case Tier::host_counters: return "launches, off-CPU time, NCCL calls, device-wide occupancy, DRAM, clock";
    case Tier::device: return "executions with names, launches, off-CPU time, NCCL calls";
    case Tier::full: return "all four questions, per kernel, under co-scheduling";
  }
  return "?";
}

Tier tier_of_command(const Parts& parts) {
  if (!parts.gpu) {
    return Tier::none;
  }
  if (!parts.host) {
    return parts.device ? Tier::unprivileged : Tier::none;
  }
  if (!parts.device) {
    return tier_of_running(parts);
  }
  return parts.counters ? Tier::full : Tier::device;
}

Tier tier_of_running(const Parts& parts) {
  if (!parts.gpu || !parts.host) {
    return Tier::none;
  }
  return parts.counters ? Tier::host_counters : Tier::host;
}

Assessment assess(const System& system, const BpfTrial& trial) {
  Assessment assessment;
  assessment.driver = driver(system);
  assessment.libcuda = find_library(system, "libcuda.so");
  assessment.libcupti = find_library(system, "libcupti.so");
  assessment.libnccl = find_library(system, "libnccl.so");
  List list;
  add_host(system, trial, list);
  add_device(system, assessment, list);
  add_counters(system, assessment, list);
  add_context(system, list);
  assessment.requirements = list.take();

  Parts parts;
  parts.host = complete(assessment.requirements, Part::host);
  parts.device = complete(assessment.requirements, Part::device);
  parts.counters = complete(assessment.requirements, Part::counters);
  parts.gpu = !assessment.driver.gpus.empty();
  assessment.command = tier_of_command(parts);
  assessment.running = tier_of_running(parts);
  return assessment;
}

}  // namespace kvet::capability
