// Kernels and processes in which a return probe is deadly. The range is that of the kernel's history: uretprobe(2) came with
// 6.11 (arch/x86/entry/syscalls/syscall_64.tbl), and kernel/seccomp.c lets it pass since 6.14.
#include "record/return_probe_guard.h"

#include <gtest/gtest.h>

namespace kvet::record {
namespace {

constexpr std::string_view filtered = "Name:\tpython\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n";
constexpr std::string_view free = "Name:\tpython\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n";

TEST(ReturnProbeGuard, AFilterRefusesTheKernelsOwnCallFrom611To613) {
  for (const std::string_view release : {"6.11.0", "6.11.0-21-generic", "6.12.3", "6.13.12-200.fc41.x86_64", "6.13"}) {
    EXPECT_TRUE(returns_are_refused("x86_64", release, filtered)) << release;
    EXPECT_FALSE(returns_are_refused("x86_64", release, free)) << release;
    EXPECT_FALSE(returns_are_refused("aarch64", release, filtered)) << release;
  }
}

TEST(ReturnProbeGuard, OtherKernelsTrapOrLetItPass) {
  for (const std::string_view release : {"5.15.0-1", "6.1.0", "6.10.14", "6.14.0", "6.18.44", "7.11.0", "6.110.0"}) {
    EXPECT_FALSE(returns_are_refused("x86_64", release, filtered)) << release;
  }
}

TEST(ReturnProbeGuard, WhatCannotBeReadRefusesNothing) {
  for (const std::string_view release : {"", "6", "6.", "six.eleven"}) {
    EXPECT_FALSE(returns_are_refused("x86_64", release, filtered)) << release;
  }
  EXPECT_FALSE(returns_are_refused("x86_64", "6.11.0", ""));
}

}  // namespace
}  // namespace kvet::record
