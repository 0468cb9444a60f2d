// Where a probe at the return of a function would end the process that it is put into.
#pragma once

#include <string_view>

namespace kvet::record {

// Linux 6.11 to 6.13 leave a return probe through a system call of its own on x86-64 (uretprobe(2), number 335), and a
// seccomp filter that lists what is allowed, as a container's does, refuses it: the process dies at the first return. Linux
// 6.14 lets the call pass every filter. `status`: of /proc/PID/status.
[[nodiscard]] bool returns_are_refused(std::string_view machine, std::string_view release, std::string_view status);

// The same of a process of this machine.
[[nodiscard]] bool returns_are_refused(int pid);

}  // namespace kvet::record
