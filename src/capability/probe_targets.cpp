#include "capability/probe_targets.h"

#if defined(__x86_64__)
// A cache line apart, so that a breakpoint in one leaves the others alone. endbr64 is written as bytes for assemblers that
// would drop it.
asm(R"(
.pushsection .text
.macro kvet_target name
  .balign 64
  .globl \name
  .hidden \name
  .type \name, @function
\name:
.endm
kvet_target kvet_target_push
  push %rbp
  pop %rbp
  ret
kvet_target kvet_target_endbr
  .byte 0xf3, 0x0f, 0x1e, 0xfa
  ret
kvet_target kvet_target_other
  sub $8, %rsp
  add $8, %rsp
  ret
.purgem kvet_target
.popsection
)");
#else
// Other machines have no such three classes: plain functions, whatever they begin with.
extern "C" {
[[gnu::noinline]] void kvet_target_push() { asm volatile(""); }
[[gnu::noinline]] void kvet_target_endbr() { asm volatile(" "); }
[[gnu::noinline]] void kvet_target_other() { asm volatile("  "); }
}
#endif
