#include "cli/doctor_gpu_state.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "gpu_work/context.h"

namespace kvet::cli {

namespace {

// NVML's figure is an average over up to a second, and a desktop or a monitor makes some percent.
constexpr unsigned busy_percent = 10;

std::string listed(const std::vector<unsigned>& processes) {
  std::string text;
  for (const unsigned process : processes) {
    text += (text.empty() ? "" : ", ") + std::to_string(process);
  }
  return text;
}

std::vector<unsigned> other_processes(const probes::NvmlLibrary& library, kvet_nvml_device device) {
  std::array<kvet_nvml_process, 64> processes{};
  auto count = static_cast<unsigned>(processes.size());
  const int result =
      library.get_compute_processes == nullptr ? -1 : library.get_compute_processes(device, &count, processes.data());
  if (result != 0 && result != KVET_NVML_ERROR_INSUFFICIENT_SIZE) {
    return {};
  }
  std::vector<unsigned> others;
  for (size_t i = 0; i < std::min<size_t>(count, processes.size()); ++i) {
    if (processes[i].pid != 0 && processes[i].pid != static_cast<unsigned>(::getpid())) {
      others.push_back(processes[i].pid);
    }
  }
  return others;
}

}  // namespace

Result<GpuState> GpuState::open(const probes::NvmlLibrary& library, const std::string& uuid_hex) {
  unsigned count = 0;
  if (library.init() != 0 || library.get_count(&count) != 0) {
    return fail(ErrorKind::unavailable, "NVML does not start");
  }
  for (unsigned index = 0; index < count; ++index) {
    kvet_nvml_device device = nullptr;
    char uuid[KVET_NVML_UUID_BYTES] = {};
    if (library.get_handle(index, &device) == 0 && library.get_uuid(device, uuid, sizeof uuid) == 0 &&
        gpu_work::uuid_digits(uuid) == uuid_hex) {
      return GpuState(library, device);
    }
  }
  return fail(ErrorKind::unavailable, "NVML does not know this GPU");
}

Result<void> GpuState::check_free(std::vector<std::string>& notes) const {
  const std::vector<unsigned> others = other_processes(library_, device_);
  // What has just ended is in NVML's average for a moment still: the GPU is given two seconds to look idle twice in a row.
  constexpr int looks = 8, idle_looks_wanted = 2;
  unsigned last = 0;
  bool known = false;
  int idle_looks = 0;
  for (int look = 0; look < looks && idle_looks < idle_looks_wanted; ++look) {
    kvet_nvml_utilization utilization{};
    if (library_.get_utilization == nullptr || library_.get_utilization(device_, &utilization) != 0) {
      known = false;
      break;
    }
    known = true;
    last = utilization.gpu;
    idle_looks = last < busy_percent ? idle_looks + 1 : 0;
    constexpr timespec between{0, 250'000'000};
    ::nanosleep(&between, nullptr);
  }
  if (known && idle_looks < idle_looks_wanted) {
    return fail(ErrorKind::unavailable,
                fmt::format("the GPU is in use ({}% of the time{})", last,
                            others.empty() ? "" : ", processes " + listed(others)),
                {}, "Stop what runs on it, or calibrate later: shared bandwidth would look like little bandwidth");
  }
  if (!known) {
    notes.emplace_back("NVML does not say whether something else used the GPU");
  } else if (!others.empty()) {
    notes.push_back("other processes held the GPU at rest: " + listed(others));
  }
  return {};
}

void GpuState::look() {
  unsigned long long reasons = 0;
  if (library_.get_throttle_reasons(device_, &reasons) == 0) {
    reasons_ |= reasons;
  }
  unsigned clock = 0;
  if (library_.get_clock(device_, KVET_NVML_CLOCK_MEMORY, &clock) == 0) {
    memory_clock_mhz_ = std::max<uint64_t>(memory_clock_mhz_, clock);
  }
}

std::vector<std::string> GpuState::notes() const {
  std::vector<std::string> notes;
  const auto add = [&](unsigned long long bits, const char* sentence) {
    if ((reasons_ & bits) != 0) {
      notes.emplace_back(sentence);
    }
  };
  add(KVET_NVML_CLOCK_SOFTWARE_POWER_CAP, "clocks were lowered to keep the power limit");
  add(KVET_NVML_CLOCK_SOFTWARE_THERMAL | KVET_NVML_CLOCK_HARDWARE_THERMAL, "clocks were lowered because it was hot");
  add(KVET_NVML_CLOCK_POWER_BRAKE, "clocks were lowered by the power brake");
  if ((reasons_ & (KVET_NVML_CLOCK_HARDWARE_THERMAL | KVET_NVML_CLOCK_POWER_BRAKE)) == 0) {
    add(KVET_NVML_CLOCK_HARDWARE_SLOWDOWN, "clocks were lowered by the hardware");
  }
  return notes;
}

uint64_t GpuState::power_limit_mw() const {
  unsigned milliwatts = 0;
  return library_.get_power_limit(device_, &milliwatts) == 0 ? milliwatts : 0;
}

}  // namespace kvet::cli
