// Three functions of kvet's own that begin as probed functions begin. They do nothing; probes are tried and timed on them,
// never on somebody else's code.
#pragma once

extern "C" {
void kvet_target_push();  // push %rbp: the kernel emulates it
void kvet_target_endbr();  // endbr64, as with -fcf-protection
void kvet_target_other();  // sub $8,%rsp: the kernel single-steps a copy
}
