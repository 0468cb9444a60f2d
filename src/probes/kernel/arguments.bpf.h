/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Integer and pointer arguments of a user-space function at its first instruction, counted from 0, by the calling
 * convention: x86-64 System V ABI 3.2.3 (six registers, then 8-byte slots above the return address), AAPCS64 6.8
 * (eight registers, then 8-byte slots at the stack pointer).
 *
 * Include after kernel.bpf.h.
 */
#ifndef KVET_PROBES_ARGUMENTS_BPF_H
#define KVET_PROBES_ARGUMENTS_BPF_H

#if defined(__TARGET_ARCH_arm64)
/* arch/arm64/include/uapi/asm/ptrace.h: declared here, since the machine that compiles may be another architecture. */
struct user_pt_regs {
  kvet_u64 regs[31];
  kvet_u64 sp;
  kvet_u64 pc;
  kvet_u64 pstate;
};
#else
#include <linux/ptrace.h>
#endif
#include <bpf/bpf_tracing.h>

#if defined(__TARGET_ARCH_arm64)
#define KVET_REGISTER_ARGUMENTS 8
#define KVET_STACK_ARGUMENTS_AT 0
#else
#define KVET_REGISTER_ARGUMENTS 6
#define KVET_STACK_ARGUMENTS_AT 8
#endif

/* The address of the n-th 8-byte slot of arguments on the stack. */
static __always_inline kvet_u64 stack_slot(struct pt_regs* registers, kvet_u32 slot) {
  return PT_REGS_SP(registers) + KVET_STACK_ARGUMENTS_AT + 8 * slot;
}

/* The first nine arguments. All are read at once: an access at a computed offset into the registers would be refused by
 * the verifier. The stack was written by the caller a moment ago, so it is present. */
struct arguments {
  kvet_u64 values[16];
};
#define KVET_ARGUMENTS 9

static __always_inline void read_arguments(struct pt_regs* registers, struct arguments* arguments) {
  arguments->values[0] = PT_REGS_PARM1(registers);
  arguments->values[1] = PT_REGS_PARM2(registers);
  arguments->values[2] = PT_REGS_PARM3(registers);
  arguments->values[3] = PT_REGS_PARM4(registers);
  arguments->values[4] = PT_REGS_PARM5(registers);
#if defined(__TARGET_ARCH_arm64)
  arguments->values[5] = ((struct user_pt_regs*)registers)->regs[5];
  arguments->values[6] = ((struct user_pt_regs*)registers)->regs[6];
  arguments->values[7] = ((struct user_pt_regs*)registers)->regs[7];
#else
  arguments->values[5] = registers->r9;
#endif
  bpf_probe_read_user(&arguments->values[KVET_REGISTER_ARGUMENTS], 8 * (KVET_ARGUMENTS - KVET_REGISTER_ARGUMENTS),
                      (void*)stack_slot(registers, 0));
}

static __always_inline kvet_u64 argument(struct arguments* arguments, kvet_i32 index) {
  return arguments->values[index & 15];
}

#endif
