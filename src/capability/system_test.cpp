#include "capability/system.h"

#include <gtest/gtest.h>

#include "capability/cgroup.h"
#include "capability/gpu.h"
#include "capability/planted_tree.h"
#include "capability/privileges.h"

namespace kvet::capability {
namespace {

TEST(System, ReadsBelowItsRoot) {
  const PlantedTree tree;
  tree.plant("/proc/a", "text\n");
  EXPECT_EQ(tree.system.read("/proc/a"), "text\n");
  EXPECT_TRUE(tree.system.exists("/proc/a"));
  EXPECT_FALSE(tree.system.exists("/proc/version"));  // the machine's own is out of sight
  EXPECT_EQ(tree.system.read("/proc/missing"), std::nullopt);
  EXPECT_EQ(tree.system.read("/proc"), std::nullopt);  // a folder
  EXPECT_EQ(tree.system.matches("/proc/*"), std::vector<std::string>{"/proc/a"});
}

TEST(System, TakesWordsApart) {
  EXPECT_EQ(value_of("Name:\tkvet\nCapEff:\t00ff\n", "CapEff"), "00ff");
  EXPECT_EQ(value_of("CapEffective: 1\n", "CapEff"), std::nullopt);
  EXPECT_EQ(value_of("", "CapEff"), std::nullopt);
  EXPECT_EQ(whole_number(" -1\n"), -1);
  EXPECT_EQ(whole_number("4 5"), std::nullopt);
  EXPECT_EQ(whole_number(""), std::nullopt);
}

TEST(Privileges, AreReadFromTheEffectiveSet) {
  const PlantedTree tree;
  EXPECT_FALSE(privileges(tree.system));
  // Bit numbers of linux/capability.h: CAP_PERFMON 38, CAP_BPF 39.
  tree.plant("/proc/self/status", "Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t000000c000000000\n");
  auto rights = privileges(tree.system);
  ASSERT_TRUE(rights);
  EXPECT_TRUE(rights->bpf && rights->perfmon);
  EXPECT_FALSE(rights->administrator || rights->trace_others);
  tree.plant("/proc/self/status", "CapEff:\t0000000000200000\n");  // CAP_SYS_ADMIN, 21, stands for both
  rights = privileges(tree.system);
  ASSERT_TRUE(rights);
  EXPECT_TRUE(rights->bpf && rights->perfmon && rights->administrator);
  tree.plant("/proc/self/status", "CapEff:\t0000000000080000\n");  // CAP_SYS_PTRACE, 19
  rights = privileges(tree.system);
  ASSERT_TRUE(rights);
  EXPECT_TRUE(rights->trace_others);
  EXPECT_FALSE(rights->bpf || rights->perfmon);
  tree.plant("/proc/self/status", "CapEff:\tzz\n");
  EXPECT_FALSE(privileges(tree.system));
}

// The two ways in which the driver words its version, and words that must not be taken for it.
TEST(Gpu, FindsTheDriversVersion) {
  EXPECT_EQ(driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build  (x)\n"
                           "GCC version:  gcc version 12.3.0\n"),
            "580.159.03");
  EXPECT_EQ(driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104  Sat Aug 19 01:15:15 UTC 2023\n"),
            "535.104");
  EXPECT_EQ(driver_version("GCC version: gcc\n12.3.0\n"), "");
  EXPECT_EQ(driver_version(""), "");
}

TEST(Gpu, ListsWhatTheDriverLists) {
  const PlantedTree tree;
  EXPECT_TRUE(driver(tree.system).version.empty());
  EXPECT_TRUE(driver(tree.system).gpus.empty());
  EXPECT_EQ(driver(tree.system).counters_for_administrators_only, std::nullopt);
  tree.plant("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Kernel Module  570.1  x\n");
  tree.plant("/proc/driver/nvidia/gpus/0000:19:00.0/information",
             "Model: \t\t NVIDIA H200\nIRQ:   \t\t 1\nGPU UUID: \t GPU-aa\nBus Location: \t 0000:19:00.0\n");
  tree.plant("/proc/driver/nvidia/gpus/0000:3b:00.0/information", "Model: NVIDIA L4\n");
  tree.plant("/proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 1\n");
  const Driver found = driver(tree.system);
  EXPECT_EQ(found.version, "570.1");
  ASSERT_EQ(found.gpus.size(), 2U);
  EXPECT_EQ(found.gpus[0].model, "NVIDIA H200");
  EXPECT_EQ(found.gpus[0].uuid, "GPU-aa");
  EXPECT_EQ(found.gpus[0].bus, "0000:19:00.0");
  EXPECT_EQ(found.gpus[1].model, "NVIDIA L4");
  EXPECT_EQ(found.counters_for_administrators_only, true);
  tree.plant("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
  EXPECT_EQ(driver(tree.system).counters_for_administrators_only, false);
}

TEST(CpuQuota, IsTheTightestOfTheGroupsAbove) {
  const PlantedTree tree;
  EXPECT_FALSE(cpu_quota(tree.system));
  tree.plant("/proc/self/cgroup", "0::/pod/container\n");
  tree.plant("/sys/fs/cgroup/pod/container/cpu.max", "max 100000\n");
  EXPECT_FALSE(cpu_quota(tree.system));
  tree.plant("/sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
  auto quota = cpu_quota(tree.system);
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->cpus, 1.5);
  EXPECT_EQ(quota->cgroup, "/pod");
  tree.plant("/sys/fs/cgroup/pod/container/cpu.max", "400000 100000\n");
  EXPECT_EQ(cpu_quota(tree.system)->cpus, 1.5);
  tree.plant("/sys/fs/cgroup/pod/container/cpu.max", "50000 100000\n");
  EXPECT_EQ(cpu_quota(tree.system)->cpus, 0.5);
  // In a container the group is its own root.
  tree.plant("/proc/self/cgroup", "0::/\n");
  tree.plant("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  quota = cpu_quota(tree.system);
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->cpus, 2.0);
  EXPECT_EQ(quota->cgroup, "/");
}

TEST(CpuQuota, KnowsTheOldHierarchy) {
  const PlantedTree tree;
  tree.plant("/proc/self/cgroup", "5:devices:/\n4:cpu,cpuacct:/job:1/x\n0::/\n");
  tree.plant("/sys/fs/cgroup/cpu,cpuacct/job:1/x/cpu.cfs_quota_us", "-1\n");
  tree.plant("/sys/fs/cgroup/cpu,cpuacct/job:1/x/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(cpu_quota(tree.system));
  tree.plant("/sys/fs/cgroup/cpu,cpuacct/job:1/cpu.cfs_quota_us", "250000\n");
  tree.plant("/sys/fs/cgroup/cpu,cpuacct/job:1/cpu.cfs_period_us", "100000\n");
  const auto quota = cpu_quota(tree.system);
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->cpus, 2.5);
  EXPECT_EQ(quota->cgroup, "/job:1");
}

}  // namespace
}  // namespace kvet::capability
