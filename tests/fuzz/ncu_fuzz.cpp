// Nsight Compute's CSV.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "import/ncu_csv.h"

namespace {

void must(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void plausible(const std::optional<kvet::IsolatedValue>& value, double most) {
  must(!value || (std::isfinite(value->value) && value->value >= 0 && value->value <= most && !value->from.empty()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kvet;
  const auto profile = importing::parse_ncu_csv({reinterpret_cast<const char*>(data), size}, "input");
  if (!profile) {
    constexpr size_t longest_message = 2000;
    must(profile.error().kind == ErrorKind::bad_input && !profile.error().what.empty() &&
         profile.error().subject.starts_with("input") && profile.error().message().size() < longest_message);
    return 0;
  }
  must(!profile->launches.empty());
  for (const IsolatedLaunch& launch : profile->launches) {
    must(launch.kernel < profile->kernels.size() && launch.device < profile->devices.size());
    for (const auto& percent : {launch.occupancy_active_percent, launch.occupancy_elapsed_percent,
                                launch.occupancy_theoretical_percent, launch.dram_peak_percent}) {
      plausible(percent, 101);
    }
    for (const auto& count : {launch.dram_read_bytes, launch.dram_write_bytes, launch.dram_bytes, launch.duration_ns,
                              launch.cycles, launch.sm_clock_hz}) {
      plausible(count, HUGE_VAL);
    }
  }
  return 0;
}
