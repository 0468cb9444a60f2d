#include "probes/counters/refusal.h"

#include <dirent.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <string_view>

#include "abi/vendor/cupti_pm.h"

namespace kvet::probes {
namespace {

// DCGM's host engine and its exporter, and NVIDIA's profilers; names as in /proc/PID/comm, which has 15 characters.
constexpr std::array<std::string_view, 7> holder_names = {"nv-hostengine", "dcgm-exporter", "dcgmproftester", "nsys",
                                                          "nsys-launcher", "ncu",           "nv-nsight-cu-cl"};

std::string command_name(const std::string& folder) {
  std::string name;
  if (FILE* file = std::fopen((folder + "/comm").c_str(), "re")) {
    char line[64] = {};
    if (std::fgets(line, sizeof(line), file) != nullptr) {
      name = line;
      while (!name.empty() && name.back() == '\n') {
        name.pop_back();
      }
    }
    std::fclose(file);
  }
  return name;
}

std::string held(const char* step, int code) {
  const std::string holders = probable_holders();
  const std::string who = holders.empty() ? "another profiler, a DCGM service outside this container, or a second kvet"
                                          : "probably " + holders;
  return fmt::format(
      "the GPU's counters are held by another client, {} ({}: error {}). Stop it, or pause DCGM with "
      "`dcgmi profile --pause`",
      who, step, code);
}

}  // namespace

std::string probable_holders(const std::string& proc) {
  std::string found;
  DIR* folder = ::opendir(proc.c_str());
  if (folder == nullptr) {
    return found;
  }
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view id = entry->d_name;
    if (!std::all_of(id.begin(), id.end(), [](unsigned char character) { return std::isdigit(character) != 0; })) {
      continue;
    }
    const std::string name = command_name(fmt::format("{}/{}", proc, id));
    if (std::find(holder_names.begin(), holder_names.end(), name) != holder_names.end()) {
      found += fmt::format("{}{} (pid {})", found.empty() ? "" : ", ", name, id);
    }
  }
  ::closedir(folder);
  return found;
}

std::string refusal(const char* step, int code, const std::string& chip) {
  switch (code) {
    case KVET_PM_INSUFFICIENT_PRIVILEGES:
      return "the driver lets only administrators read counters. Run kvet as root, or set "
             "`options nvidia NVreg_RestrictProfilingToAdminUsers=0` in /etc/modprobe.d and reload the driver";
    case KVET_PM_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
    case KVET_PM_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return "this virtual GPU does not expose counters. Ask whoever runs the host to enable profiling for it";
    case KVET_PM_CONFIDENTIAL_COMPUTING:
      return "the GPU runs in confidential-computing mode, which closes its counters. Use a GPU without it, or with "
             "developer tools enabled";
    case KVET_PM_MIG_DEVICE:
      return "the GPU is split by MIG, and performance-monitor sampling does not work on its parts. Use a whole GPU";
    case KVET_PM_WSL_DEVICE: return "CUPTI cannot read counters under WSL. Record on Linux itself";
    case KVET_PM_CMP_DEVICE: return "NVIDIA closes the counters of mining GPUs. Use another GPU";
    case KVET_PM_SLI_DEVICE: return "CUPTI cannot read the counters of GPUs in SLI. Turn SLI off";
    case KVET_PM_HARDWARE_BUSY:
    case KVET_PM_MULTIPLE_SUBSCRIBERS:
    case KVET_PM_INVALID_OPERATION: return held(step, code);
    case KVET_PM_INVALID_CHIP_NAME:
    case KVET_PM_INVALID_DEVICE:
    case KVET_PM_NOT_SUPPORTED:
    case KVET_PM_NOT_COMPATIBLE:
      return fmt::format(
          "this libcupti does not sample the counters of {} ({}: error {}). Name a newer libcupti in "
          "KVET_CUPTI_PATH; chips before Turing have no such counters",
          chip.empty() ? "this chip" : "chip " + chip, step, code);
    case KVET_PM_OUT_OF_MEMORY:
      return fmt::format(
          "there was no memory for the hardware's sample buffer ({}: error {}). It takes 512 MiB of "
          "host memory that can be pinned",
          step, code);
    default: {
      const std::string holders = probable_holders();
      return fmt::format("{} failed with error {}{}. See CUptiResult in CUPTI's documentation", step, code,
                         holders.empty() ? "" : "; " + holders + " may hold the counters");
    }
  }
}

}  // namespace kvet::probes
