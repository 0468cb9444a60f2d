// How the library gets into the target: through the environment variables that CUDA and NVTX read, and never where
// somebody else already uses them.
#pragma once

#include <optional>
#include <string>

#include "base/invoking_user.h"

namespace kvet::record {

// Why the library cannot be injected with this environment; empty where it can.
[[nodiscard]] std::optional<std::string> injection_taken(const Environment& environment);

struct InjectionSettings {
  std::string library;
  bool wait_for_probe = false;           // eBPF reads: the library waits for it at start-up
  bool discard = false;
  int memory_descriptor = -1;            // the memory-file tier
  std::string memory_path;
};
void inject(Environment& environment, const InjectionSettings& settings);

}  // namespace kvet::record
