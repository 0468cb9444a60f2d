// The NVIDIA driver and its GPUs, from /proc; NVML is asked only where /proc says nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "capability/system.h"

namespace kvet::capability {

struct Gpu {
  std::string model;
  std::string uuid;
  std::string bus;  // PCI address
};

struct Driver {
  std::string version;  // "580.159.03"; "" when no driver is loaded
  std::vector<Gpu> gpus;
  // Whether the performance counters are kept from everybody but the administrator; empty: not known.
  std::optional<bool> counters_for_administrators_only;
};

[[nodiscard]] Driver driver(const System& system);

// The version in the first line of /proc/driver/nvidia/version.
[[nodiscard]] std::string driver_version(std::string_view text);

}  // namespace kvet::capability
