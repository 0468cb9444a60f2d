// On the machine itself: what can be tried here is tried; what this user may not do is skipped and said.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "capability/bpf_trial.h"
#include "capability/first_instruction.h"
#include "capability/hit_cost.h"
#include "capability/probe_targets.h"

namespace kvet::capability {
namespace {

FirstBytes bytes_of(void (*function)()) {
  FirstBytes bytes{};
  std::memcpy(bytes.data(), reinterpret_cast<const void*>(function), bytes.size());
  return bytes;
}

// Encodings from Intel's manual, volume 2.
TEST(FirstInstruction, IsClassifiedByItsBytes) {
#if defined(__x86_64__)
  EXPECT_EQ(classify({0x55, 0x48, 0x89, 0xe5}), FirstInstruction::push);        // push %rbp
  EXPECT_EQ(classify({0x41, 0x57}), FirstInstruction::push);                    // push %r15
  EXPECT_EQ(classify({0x41, 0x89, 0xc0}), FirstInstruction::other);             // mov %eax,%r8d
  EXPECT_EQ(classify({0xf3, 0x0f, 0x1e, 0xfa, 0x55}), FirstInstruction::endbr64);
  EXPECT_EQ(classify({0xf3, 0x0f, 0x1e, 0xfb}), FirstInstruction::other);       // endbr32
  EXPECT_EQ(classify({0x90}), FirstInstruction::nop);
  EXPECT_EQ(classify({0x0f, 0x1f, 0x44, 0x00, 0x00}), FirstInstruction::nop);   // nopl
  EXPECT_EQ(classify({0xe9, 0, 0, 0, 0}), FirstInstruction::branch);
  EXPECT_EQ(classify({0x48, 0x83, 0xec, 0x08}), FirstInstruction::other);       // sub $8,%rsp
  EXPECT_EQ(classify({0x48, 0x8d, 0x05}), FirstInstruction::other);             // lea
  EXPECT_TRUE(emulated(FirstInstruction::push));
  EXPECT_FALSE(emulated(FirstInstruction::endbr64));
#else
  EXPECT_EQ(classify({}), FirstInstruction::unknown);
#endif
}

#if defined(__x86_64__)
TEST(ProbeTargets, BeginAsTheyAreCalled) {
  EXPECT_EQ(classify(bytes_of(kvet_target_push)), FirstInstruction::push);
  EXPECT_EQ(classify(bytes_of(kvet_target_endbr)), FirstInstruction::endbr64);
  EXPECT_EQ(classify(bytes_of(kvet_target_other)), FirstInstruction::other);
  kvet_target_push();
  kvet_target_endbr();
  kvet_target_other();
}
#endif

TEST(BpfTrial, SaysWhatHappened) {
  const BpfTrial trial = try_bpf();
  if (::geteuid() != 0 || trial.load != 0) {
    GTEST_SKIP() << "no eBPF for this user here: " << explain(trial.load);
  }
  EXPECT_EQ(trial.ring_buffer, 0) << explain(trial.ring_buffer);
  EXPECT_EQ(trial.raw_tracepoint, 0) << explain(trial.raw_tracepoint);
  EXPECT_EQ(trial.uprobe, 0) << explain(trial.uprobe);
}

TEST(BpfTrial, ExplainsErrors) {
  EXPECT_EQ(explain(0), "works");
  EXPECT_EQ(explain(EPERM), "not permitted (EPERM)");
  EXPECT_EQ(explain(EINVAL), "Invalid argument (EINVAL)");
}

TEST(HitCost, IsMeasuredWhereUprobesWork) {
  const BpfTrial trial = try_bpf();
  const HitCost cost = measure_hit_cost();
  if (trial.uprobe != 0) {
    EXPECT_FALSE(cost.push_ns);
    EXPECT_FALSE(cost.reason.empty());
    GTEST_SKIP() << "no uprobes for this user here: " << explain(trial.uprobe);
  }
  EXPECT_EQ(cost.reason, "");
  // A hit is a trap into the kernel and back: no machine does that in 50 ns, while the call itself takes 2. Without a
  // probe in place the difference would be about 0.
  ASSERT_TRUE(cost.push_ns && cost.endbr64_ns && cost.other_ns && cost.return_ns);
  EXPECT_GT(*cost.push_ns, 50);
  EXPECT_GT(*cost.endbr64_ns, 50);
  EXPECT_GT(*cost.other_ns, 50);
}

}  // namespace
}  // namespace kvet::capability
