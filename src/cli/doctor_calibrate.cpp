#include "cli/doctor_calibrate.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "base/terminal.h"
#include "base/text.h"
#include "base/version.h"
#include "capability/calibration.h"
#include "cli/doctor_gpu_state.h"
#include "gpu_work/dram.h"

namespace kvet::cli {

namespace {

using capability::Calibration;

// One line that is written over; nothing where stderr is no terminal.
class Progress {
 public:
  explicit Progress(const gpu_work::DeviceFacts& device)
      : shown_(::isatty(STDERR_FILENO) == 1),
        name_(fmt::format("GPU {} ({})", device.ordinal, printable(device.name))) {}
  ~Progress() { show(""); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void say(const std::string& what) { show(name_ + ": " + what); }

 private:
  void show(const std::string& line) {
    if (shown_) {
      constexpr const char* erase_to_end = "\033[K";
      std::fprintf(stderr, "\r%s%s", line.c_str(), erase_to_end);
    }
  }
  bool shown_;
  std::string name_;
};

Calibration calibration_of(const gpu_work::DeviceFacts& device, const gpu_work::DramMeasurement& measured) {
  Calibration calibration;
  calibration.uuid = device.uuid_hex;
  calibration.name = device.name;
  calibration.kvet_version = version();
  calibration.time = capability::time_text(::time(nullptr));
  calibration.peak_bytes_per_second = device.peak_dram_bytes_per_second;
  calibration.buffer_bytes = measured.buffer_bytes;
  calibration.notes = measured.notes;
  static_assert(std::tuple_size_v<decltype(calibration.rates)> == gpu_work::dram_patterns.size());
  for (size_t i = 0; i < measured.rates.size(); ++i) {
    const gpu_work::DramRate& rate = measured.rates[i];
    calibration.rates[i] = {rate.best,         rate.median,        rate.lowest, rate.by_globaltimer,
                            rate.shape.blocks, rate.shape.threads, rate.rounds};
  }
  return calibration;
}

// Everything that could make a figure wrong is asked before and while the GPU works.
Result<Calibration> calibrate(const gpu_work::Driver& driver, int ordinal,
                              const std::optional<probes::NvmlLibrary>& nvml, const std::string& driver_version) {
  std::optional<GpuState> state;
  std::vector<std::string> notes;
  {
    // Whether others use the GPU is asked before kvet does; so which GPU it is has to be known without a context.
    const auto device = gpu_work::look_up(driver, gpu_work::DeviceChoice::ordinal(ordinal));
    if (!device) {
      return std::unexpected(device.error());
    }
    if (nvml) {
      if (auto opened = GpuState::open(*nvml, device->uuid_hex)) {
        state = *opened;
      } else {
        notes.push_back(opened.error().what + ": nobody watched whether it was free");
      }
    } else {
      notes.emplace_back("there is no NVML: nobody watched whether it was free");
    }
    if (state) {
      if (auto free = state->check_free(notes); !free) {
        Error error = free.error();
        error.subject = device->name;
        return std::unexpected(error);
      }
    }
  }
  const auto context = gpu_work::Context::open(driver, gpu_work::DeviceChoice::ordinal(ordinal));
  if (!context) {
    return std::unexpected(context.error());
  }
  Progress progress(context->device());
  gpu_work::DramObserver observer;
  observer.round_begins = [&](gpu_work::DramPattern pattern, uint32_t round, uint32_t rounds) {
    progress.say(fmt::format("{}, round {} of {}", gpu_work::describe(pattern), round, rounds));
  };
  observer.at_work = [&] {
    if (state) {
      state->look();
    }
  };
  const auto measured = gpu_work::measure_dram(*context, observer);
  if (!measured) {
    return std::unexpected(measured.error());
  }
  Calibration calibration = calibration_of(context->device(), *measured);
  calibration.driver_version = driver_version.empty() ? "unknown" : driver_version;
  calibration.notes.insert(calibration.notes.end(), notes.begin(), notes.end());
  if (state) {
    calibration.power_limit_mw = state->power_limit_mw();
    calibration.memory_clock_mhz = state->memory_clock_mhz();
    const auto seen = state->notes();
    calibration.notes.insert(calibration.notes.end(), seen.begin(), seen.end());
  }
  return calibration;
}

}  // namespace

int calibrate_gpus(const std::string& driver_version) {
  // kvet's own work is nobody's to profile: the driver would load what these name.
  ::unsetenv("CUDA_INJECTION64_PATH");
  ::unsetenv("NVTX_INJECTION64_PATH");
  const auto driver = gpu_work::load_driver();
  if (!driver) {
    return report_error(driver.error());
  }
  const auto count = gpu_work::device_count(*driver);
  if (!count) {
    return report_error(count.error());
  }
  std::optional<probes::NvmlLibrary> nvml;
  if (auto loaded = probes::load_nvml()) {
    nvml = *loaded;
  }
  const std::string folder = capability::calibration_folders().front();
  int status = 0;
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    const auto calibration = calibrate(*driver, ordinal, nvml, driver_version);
    auto stored = calibration ? capability::store_calibration(*calibration, folder)
                              : Result<std::string>(std::unexpected(calibration.error()));
    if (!stored) {
      const int failed = report_error(stored.error());
      status = status == 0 ? failed : status;
      continue;
    }
    for (const std::string& note : calibration->notes) {
      print_warning(fmt::format("{}: {}", calibration->name, note));
    }
    print_note("calibrated: " + *stored);
  }
  return status;
}

}  // namespace kvet::cli
