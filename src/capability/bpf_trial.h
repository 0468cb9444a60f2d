// What the kernel lets this process do with eBPF, found out by doing it: the smallest program, map and attachments, all
// gone again when the trial returns.
#pragma once

#include <cstdint>
#include <string>

#include "base/file_descriptor.h"

namespace kvet::capability {

// 0 when it worked, else the errno, and −1 where it was not tried because something before it failed.
struct BpfTrial {
  int load = -1;  // a kprobe-type program of two instructions
  int ring_buffer = -1;  // a ring-buffer map
  int raw_tracepoint = -1;  // sched_switch
  int uprobe = -1;  // a perf event on a function of our own, in this process alone
};
[[nodiscard]] BpfTrial try_bpf();

// "not permitted (EPERM)" and the like, for people.
[[nodiscard]] std::string explain(int error_number);

// For those who attach to their own process. All return an invalid descriptor and set errno on failure.
enum class Where : uint8_t { entry, at_return };
[[nodiscard]] FileDescriptor load_nothing();  // a loaded program that returns 0
[[nodiscard]] FileDescriptor attach_to_own_function(int program, const void* function, Where where);

}  // namespace kvet::capability
