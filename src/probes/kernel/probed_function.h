// What a BPF object that sits on functions of a library offers to whoever attaches it.
#pragma once

#include <cstdint>
#include <span>

namespace kvet::probes {

struct ProbedFunction {
  const char* symbol;
  uint64_t cookie;  // what the program gets from bpf_get_attach_cookie
  bool at_return;   // its return is of interest too
};

// How uprobes are attached; decided before a program is loaded, since the kernel binds a program to it.
enum class UprobeWay : uint8_t {
  single,  // one perf event per function (Linux 5.15, where perf events got cookies)
  multi,   // one link for all functions of a file (Linux 6.6; used where its pid filter means the whole process)
};
// expected_attach_type of a program for uprobe_multi links: BPF_TRACE_UPROBE_MULTI of linux/bpf.h, which the
// distribution's headers do not have yet.
inline constexpr int attach_type_uprobe_multi = 48;

struct UprobeProgram {
  int entry_descriptor = -1;
  int return_descriptor = -1;
  UprobeWay way = UprobeWay::single;
  std::span<const ProbedFunction> functions;
};

}  // namespace kvet::probes
