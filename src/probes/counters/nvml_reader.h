// What NVML says about each GPU: who it is, and how it does ten times per second.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "abi/counters.h"
#include "probes/counters/vendor_libraries.h"

namespace kvet::probes {

struct NvmlGpu {
  kvet_nvml_device handle = nullptr;
  std::array<uint8_t, 16> uuid{};
  std::string name;
  uint64_t memory_bytes = 0;
  uint32_t power_limit_milliwatts = 0;  // 0: unknown
  bool split_by_mig = false;
};

// "GPU-8-4-4-4-12 hexadecimal digits" to bytes; nothing where it is not of that form.
[[nodiscard]] std::optional<std::array<uint8_t, 16>> parse_gpu_uuid(const std::string& text);

class NvmlReader {
 public:
  // Initialises NVML and lists the GPUs.
  static Result<NvmlReader> open();

  [[nodiscard]] const std::vector<NvmlGpu>& gpus() const { return gpus_; }
  [[nodiscard]] const std::string& driver_version() const { return driver_version_; }

  // Power, clocks, temperature, throttle reasons; what cannot be read is not marked as known. Why the GPU will not answer
  // any more, in one sentence; empty: it does.
  std::string read(const NvmlGpu& gpu, kvet_sampler_reading& reading) const;

  [[nodiscard]] bool has_gpm(const NvmlGpu& gpu) const;
  // One GPM sample, to be compared with the one before it. Null where it cannot be taken.
  [[nodiscard]] kvet_nvml_gpm_sample take_gpm(const NvmlGpu& gpu) const;
  void free_gpm(kvet_nvml_gpm_sample sample) const;
  // Occupancy, DRAM and SM activity between two samples, which must lie at least 100 ms apart: nearer ones read as zero
  // or NaN without an error (DCGM issue 310, and measured on an H200).
  void compare_gpm(kvet_nvml_gpm_sample first, kvet_nvml_gpm_sample second, kvet_sampler_reading& reading) const;

 private:
  NvmlLibrary library_;
  std::vector<NvmlGpu> gpus_;
  std::string driver_version_;
};

}  // namespace kvet::probes
