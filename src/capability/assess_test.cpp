#include "capability/assess.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "capability/planted_tree.h"

namespace kvet::capability {
namespace {

// A machine that has everything, as root.
void plant_everything(PlantedTree& tree) {
  tree.plant("/proc/self/status", "CapEff:\t000001ffffffffff\n");
  tree.plant("/proc/self/cgroup", "0::/\n");
  tree.plant("/proc/sys/kernel/perf_event_paranoid", "2\n");
  tree.plant("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  tree.plant("/sys/kernel/btf/vmlinux", "x");
  tree.plant("/sys/bus/event_source/devices/uprobe/type", "8\n");
  tree.plant("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", "config:32-63\n");
  tree.plant("/proc/driver/nvidia/version", "NVRM version: Kernel Module  580.1  x\n");
  tree.plant("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n");
  tree.plant("/proc/driver/nvidia/gpus/0/information", "Model: NVIDIA H200\n");
  tree.plant("/usr/lib/libcuda.so.1", "x");
  tree.plant("/usr/local/cuda/lib64/libcupti.so.13", "x");
}
constexpr BpfTrial all_works{0, 0, 0, 0};

void drop_privileges(PlantedTree& tree) { tree.plant("/proc/self/status", "CapEff:\t0000000000000000\n"); }
constexpr BpfTrial refused{EPERM, EPERM, -1, -1};

Requirement find(const Assessment& assessment, std::string_view id) {
  for (const Requirement& requirement : assessment.requirements) {
    if (requirement.id == id) {
      return requirement;
    }
  }
  ADD_FAILURE() << "no requirement " << id;
  return {};
}

TEST(Assess, EverythingGivesTheFullTier) {
  PlantedTree tree;
  plant_everything(tree);
  const Assessment assessment = assess(tree.system, all_works);
  EXPECT_EQ(assessment.command, Tier::full);
  EXPECT_EQ(assessment.running, Tier::host_counters);
  for (const Requirement& requirement : assessment.requirements) {
    EXPECT_FALSE(requirement.why.empty()) << requirement.id;
    if (requirement.needed) {
      EXPECT_EQ(requirement.state, State::present) << requirement.id;
      EXPECT_EQ(requirement.fix, "") << requirement.id;
    }
  }
}

// Each thing that is taken away lowers the tier as design says, is named, and comes with what to do.
struct Loss {
  const char* what;
  void (*take)(PlantedTree&);
  BpfTrial trial;
  const char* id;
  Tier command, running;
};

TEST(Assess, EachLossIsNamedAndLowersTheTier) {
  const Loss losses[] = {
      {"no BTF", [](PlantedTree& tree) { tree.remove("/sys/kernel/btf"); }, all_works, "host.btf", Tier::unprivileged,
       Tier::none},
      {"no privileges, counters for administrators", drop_privileges, refused, "host.privileges", Tier::unprivileged,
       Tier::none},
      {"bpf refused to root", [](PlantedTree&) {}, BpfTrial{EPERM, EPERM, -1, -1}, "host.bpf", Tier::unprivileged,
       Tier::none},
      {"no ring buffer", [](PlantedTree&) {}, BpfTrial{0, EINVAL, 0, 0}, "host.ring_buffer", Tier::unprivileged,
       Tier::none},
      {"no raw tracepoint", [](PlantedTree&) {}, BpfTrial{0, 0, ENOENT, 0}, "host.raw_tracepoint", Tier::unprivileged,
       Tier::none},
      {"no uprobe events", [](PlantedTree& tree) { tree.remove("/sys/bus/event_source/devices/uprobe/type"); },
       all_works, "host.uprobe", Tier::unprivileged, Tier::none},
      {"no libcupti", [](PlantedTree& tree) { tree.remove("/usr/local/cuda"); }, all_works, "device.libcupti",
       Tier::host, Tier::host},
      {"injection taken",
       [](PlantedTree& tree) { tree.system.environment["CUDA_INJECTION64_PATH"] = "/opt/other/tool.so"; }, all_works,
       "device.injection", Tier::host_counters, Tier::host_counters},
      {"no libcuda", [](PlantedTree& tree) { tree.remove("/usr/lib/libcuda.so.1"); }, all_works, "device.libcuda",
       Tier::host_counters, Tier::host_counters},
      {"no GPU", [](PlantedTree& tree) { tree.remove("/proc/driver/nvidia/gpus"); }, all_works, "device.gpu",
       Tier::none, Tier::none},
  };
  for (const Loss& loss : losses) {
    PlantedTree tree;
    plant_everything(tree);
    loss.take(tree);
    const Assessment assessment = assess(tree.system, loss.trial);
    EXPECT_EQ(assessment.command, loss.command) << loss.what << ": " << name(assessment.command);
    EXPECT_EQ(assessment.running, loss.running) << loss.what << ": " << name(assessment.running);
    const Requirement missing = find(assessment, loss.id);
    EXPECT_EQ(missing.state, State::absent) << loss.what;
    EXPECT_FALSE(missing.fix.empty()) << loss.what;
  }
}

TEST(Assess, TheHolderOfTheInjectionVariableIsNamed) {
  PlantedTree tree;
  plant_everything(tree);
  tree.system.environment["CUDA_INJECTION64_PATH"] = "/opt/other/tool.so";
  EXPECT_NE(find(assess(tree.system, all_works), "device.injection").detail.find("/opt/other/tool.so"),
            std::string::npos);
}

TEST(Assess, CountersDependOnTheDriversParameterAndTheUser) {
  PlantedTree tree;
  plant_everything(tree);
  EXPECT_EQ(find(assess(tree.system, all_works), "counters.permitted").state, State::present);
  drop_privileges(tree);
  EXPECT_EQ(find(assess(tree.system, refused), "counters.permitted").state, State::absent);
  tree.plant("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
  EXPECT_EQ(find(assess(tree.system, refused), "counters.permitted").state, State::present);
  tree.remove("/proc/driver/nvidia/params");
  EXPECT_EQ(find(assess(tree.system, refused), "counters.permitted").state, State::unknown);
}

TEST(Assess, OptionalThingsCostNoTier) {
  PlantedTree tree;
  plant_everything(tree);
  tree.plant("/proc/sys/kernel/yama/ptrace_scope", "3\n");
  tree.plant("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  const Assessment assessment = assess(tree.system, all_works);
  EXPECT_EQ(assessment.command, Tier::full);
  EXPECT_EQ(find(assessment, "device.ptrace").state, State::absent);
  EXPECT_EQ(find(assessment, "context.cpu_quota").state, State::absent);
  EXPECT_EQ(find(assessment, "host.tracefs").state, State::absent);
}

TEST(Tiers, AreNamedAsInTheCapture) {
  EXPECT_STREQ(name(Tier::unprivileged), "unprivileged");
  EXPECT_STREQ(name(Tier::host), "host");
  EXPECT_STREQ(name(Tier::host_counters), "host+counters");
  EXPECT_STREQ(name(Tier::device), "device");
  EXPECT_STREQ(name(Tier::full), "full");
}

}  // namespace
}  // namespace kvet::capability
