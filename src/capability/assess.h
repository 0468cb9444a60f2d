// Every requirement of recording on this machine, and the tier that results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capability/bpf_trial.h"
#include "capability/gpu.h"
#include "capability/libraries.h"
#include "capability/requirement.h"
#include "capability/system.h"

namespace kvet::capability {

// What a recording can be; ordered, more is better. The names are those of the meta key `tier`.
enum class Tier : uint8_t { none, unprivileged, host, host_counters, device, full };
[[nodiscard]] const char* name(Tier tier);
[[nodiscard]] const char* gives(Tier tier);  // one line: what a capture of this tier holds

struct Assessment {
  std::vector<Requirement> requirements;
  Driver driver;
  std::vector<FoundLibrary> libcuda, libcupti, libnccl;
  Tier command = Tier::none;  // kvet record -- CMD
  Tier running = Tier::none;  // kvet record --pid P
};

// `trial` is what try_bpf() found; tests plant one.
[[nodiscard]] Assessment assess(const System& system, const BpfTrial& trial);

// The tiers, from which parts are complete.
struct Parts {
  bool host = false, device = false, counters = false, gpu = false;
};
[[nodiscard]] Tier tier_of_command(const Parts& parts);
[[nodiscard]] Tier tier_of_running(const Parts& parts);

}  // namespace kvet::capability
