// What this process may do, from its effective capabilities (capabilities(7)).
#pragma once

#include <optional>

#include "capability/system.h"

namespace kvet::capability {

struct Privileges {
  bool bpf = false;         // CAP_BPF, or CAP_SYS_ADMIN
  bool perfmon = false;     // CAP_PERFMON, or CAP_SYS_ADMIN
  bool administrator = false;  // CAP_SYS_ADMIN
  bool trace_others = false;   // CAP_SYS_PTRACE
};
// Empty when /proc/self/status cannot be read.
[[nodiscard]] std::optional<Privileges> privileges(const System& system);

}  // namespace kvet::capability
