// What NVML says about one GPU while it is calibrated: is it free, and do its clocks hold?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/counters/vendor_libraries.h"

namespace kvet::cli {

class GpuState {
 public:
  // `uuid_hex`: 32 digits. An error where NVML does not know that GPU.
  static Result<GpuState> open(const probes::NvmlLibrary& library, const std::string& uuid_hex);

  // Fails where other work runs on the GPU. Processes that hold it and rest become notes.
  [[nodiscard]] Result<void> check_free(std::vector<std::string>& notes) const;
  // Between the rounds: remembers every reason for which clocks were lowered.
  void look();
  // Sentences on what `look` saw.
  [[nodiscard]] std::vector<std::string> notes() const;

  [[nodiscard]] uint64_t power_limit_mw() const;
  [[nodiscard]] uint64_t memory_clock_mhz() const { return memory_clock_mhz_; }  // the highest that `look` saw

 private:
  GpuState(const probes::NvmlLibrary& library, kvet_nvml_device device) : library_(library), device_(device) {}
  probes::NvmlLibrary library_;
  kvet_nvml_device device_;
  unsigned long long reasons_ = 0;
  uint64_t memory_clock_mhz_ = 0;
};

}  // namespace kvet::cli
