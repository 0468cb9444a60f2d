// Counters of kernels that another tool ran alone, one row per launch that it profiled.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvet {

// A figure and what the file calls it.
struct IsolatedValue {
  double value = 0;
  std::string_view from;  // a text that lives as long as the program: "dram__bytes_read.sum", "Achieved Occupancy"
};

struct IsolatedLaunch {
  uint32_t kernel = 0;                        // index into IsolatedProfile::kernels
  uint32_t device = 0;                        // index into IsolatedProfile::devices
  std::array<uint32_t, 3> grid{}, block{};    // 0: the file does not say
  uint64_t line = 0;                          // where its first row stands
  std::optional<IsolatedValue> occupancy_active_percent;   // of warp slots, over cycles in which an SM had a warp
  std::optional<IsolatedValue> occupancy_elapsed_percent;  // over all cycles of all SMs
  std::optional<IsolatedValue> occupancy_theoretical_percent;
  std::optional<IsolatedValue> dram_read_bytes, dram_write_bytes;
  std::optional<IsolatedValue> dram_bytes;         // both together; the sum where the file has the parts
  std::optional<IsolatedValue> dram_peak_percent;  // throughput ÷ the device's peak
  std::optional<IsolatedValue> duration_ns;
  std::optional<IsolatedValue> cycles;       // elapsed, of one SM
  std::optional<IsolatedValue> sm_clock_hz;
};

struct IsolatedDevice {
  std::string name;  // "" where the file has but a number
  uint32_t compute_major = 0, compute_minor = 0;  // 0.0: the file does not say
  friend bool operator==(const IsolatedDevice&, const IsolatedDevice&) = default;
};

struct IsolatedProfile {
  std::string path;
  std::string tool;                   // "Nsight Compute"
  std::vector<std::string> kernels;   // raw names, as the tool prints them
  std::vector<IsolatedDevice> devices;
  std::vector<IsolatedLaunch> launches;
  uint64_t skipped_lines = 0;  // of the program's or the tool's own output between the rows
};

}  // namespace kvet
