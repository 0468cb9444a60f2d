#include "capability/privileges.h"

#include <charconv>
#include <cstdint>

namespace kvet::capability {

std::optional<Privileges> privileges(const System& system) {
  const auto status = system.read("/proc/self/status");
  const auto text = status ? value_of(*status, "CapEff") : std::nullopt;
  uint64_t mask = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), mask, 16).ec != std::errc{}) {
    return std::nullopt;
  }
  auto has = [mask](unsigned bit) { return (mask >> bit & 1U) != 0; };
  // Numbers of linux/capability.h.
  constexpr unsigned sys_ptrace = 19, sys_admin = 21, perfmon = 38, bpf = 39;
  return Privileges{has(bpf) || has(sys_admin), has(perfmon) || has(sys_admin), has(sys_admin), has(sys_ptrace)};
}

}  // namespace kvet::capability
