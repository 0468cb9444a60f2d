// Which tier a recording can have (design.md's table), and why not the next one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace kvet::record {

enum class TierChoice : uint8_t { automatic, host, unprivileged, device, full };

// What is at hand. An empty reason: it is.
struct Means {
  bool has_command = false;               // a command is started; else a running process is joined
  std::optional<std::string> no_bpf;      // why eBPF cannot be used
  std::optional<std::string> no_injection;  // why the library cannot be put into the target
};

struct Plan {
  bool bpf = false;
  bool inject = false;
  // The name without counters: host, unprivileged or device.
  std::string base;
  std::string reason;  // why not more; "" where nothing is missing
};

// Errors: unavailable, when the tier that was asked for, or any, cannot be had; usage for --tier with --pid that needs
// injection.
[[nodiscard]] Result<Plan> plan_tier(TierChoice choice, const Means& means);

// The name as the fact `tier` has it.
[[nodiscard]] std::string tier_name(const Plan& plan, bool counters);

}  // namespace kvet::record
