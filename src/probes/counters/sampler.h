// The sampler process itself: what `kvet __sampler` runs. Loads NVIDIA's libraries, samples every GPU on a thread of its
// own, reads NVML ten times per second, and streams messages (abi/counters.h) to the recorder.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "probes/counters/sampler_client.h"

namespace kvet::probes {

struct SamplerArguments {
  CounterMode mode = CounterMode::performance_monitor;
  uint64_t interval_ns = 100'000;
  BurstPlan bursts;
  bool detail = false;
  int data_descriptor = -1;  // messages go there
  int control_descriptor = -1;  // eight bytes: stop, and how many ms there are to drain; its end: the recorder is gone
  std::vector<std::string> library_paths;
  std::vector<DeviceDirectory::Uuid> devices;  // empty: all
  bool pulses = true;  // before and after: fix the samples' clock with short kernels of our own
  bool gpm_cross_check = true;  // GPM readings once per second beside performance-monitor samples
};

// Runs until it is told to stop. Ends the process: NVIDIA's libraries are not trusted to be unloaded in good order.
[[noreturn]] void run_sampler(const SamplerArguments& arguments);

}  // namespace kvet::probes
