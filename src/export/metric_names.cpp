#include "export/metric_names.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace kvet::exporting {
namespace {

using enum MetricKind;

// In the order of Known.
constexpr std::array known{
    KnownMetric{Known::gpu_utilization, "hw.gpu.utilization", "1", gauge, "DCGM_FI_DEV_GPU_UTIL", 100, 1,
                "Part of kvet.capture.duration in which the device ran a kernel of the recorded processes."},
    KnownMetric{Known::gpu_memory_limit, "hw.gpu.memory.limit", "By", up_down_counter, "DCGM_FI_DEV_FB_TOTAL", 1,
                1 << 20, "Size of the device memory."},
    KnownMetric{Known::power, "hw.power", "W", gauge, "DCGM_FI_DEV_POWER_USAGE", 1, 1, "Power draw, as NVML says."},
    KnownMetric{Known::temperature, "hw.temperature", "Cel", gauge, "DCGM_FI_DEV_GPU_TEMP", 1, 1,
                "Temperature of the GPU, as NVML says."},
    KnownMetric{Known::power_limit, "kvet.device.power_limit", "W", gauge, "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", 1, 1,
                "Power limit in force."},
    KnownMetric{Known::sm_clock, "kvet.nvml.sm_clock", "Hz", gauge, "DCGM_FI_DEV_SM_CLOCK", 1, 1e6,
                "SM clock, as NVML says."},
    KnownMetric{Known::memory_clock, "kvet.nvml.memory_clock", "Hz", gauge, "DCGM_FI_DEV_MEM_CLOCK", 1, 1e6,
                "Memory clock, as NVML says."},
    KnownMetric{Known::clock_event, "kvet.nvml.clock_event", "1", gauge, "", 1, 1,
                "Part of NVML's readings in which this reason held the clock."},
    KnownMetric{Known::sm_active, "kvet.nvml.sm_active", "1", gauge, "DCGM_FI_PROF_SM_ACTIVE", 1, 1,
                "Part of cycles in which an SM had a warp, by GPM."},
    KnownMetric{Known::sm_occupancy, "kvet.nvml.sm_occupancy", "1", gauge, "DCGM_FI_PROF_SM_OCCUPANCY", 1, 1,
                "Resident warps of all warp slots, by GPM."},
    KnownMetric{Known::dram_active, "kvet.nvml.dram_active", "1", gauge, "DCGM_FI_PROF_DRAM_ACTIVE", 1, 1,
                "Part of the bandwidth of the device memory that was used, by GPM."},
    KnownMetric{Known::kernel_executions, "kvet.kernel.executions", "{execution}", counter, "", 1, 1,
                "Executions of the kernel in kvet.capture.duration."},
    KnownMetric{Known::kernel_time, "kvet.kernel.time", "s", counter, "", 1, 1,
                "Sum of the kernel's durations in kvet.capture.duration."},
    KnownMetric{Known::capture_info, "kvet.capture.info", "{capture}", gauge, "", 1, 1,
                "1; the attributes say where the capture comes from."},
    KnownMetric{Known::capture_duration, "kvet.capture.duration", "s", gauge, "", 1, 1,
                "Length of the recording, or of its window where it states one: what all other metrics are about, but "
                "lost_records."},
    KnownMetric{Known::capture_complete, "kvet.capture.complete", "{flag}", gauge, "", 1, 1,
                "1: the recorder finished; 0: the end is missing."},
    KnownMetric{Known::capture_lost_records, "kvet.capture.lost_records", "{record}", counter, "", 1, 1,
                "What was not recorded, by source and kind: in the whole recording, whatever its window."},
    KnownMetric{Known::capture_findings, "kvet.capture.findings", "{finding}", gauge, "", 1, 1,
                "Findings by evidence; those that are unavailable have no metric of their own."},
};

constexpr std::array units{
    FindingUnit{"%", "1", 100},
    FindingUnit{"ratio", "1", 1},
    FindingUnit{"ns", "s", 1e9},
    FindingUnit{"bytes", "By", 1},
    FindingUnit{"bytes/s", "By/s", 1},
    FindingUnit{"Hz", "Hz", 1},
    FindingUnit{"count", "{count}", 1},
    FindingUnit{"flag", "{flag}", 1},
    FindingUnit{"tier", "{tier}", 1},
    FindingUnit{"waves", "{wave}", 1},
    FindingUnit{"blocks", "{block}", 1},
    FindingUnit{"registers", "{register}", 1},
    FindingUnit{"threads", "{thread}", 1},
    FindingUnit{"instructions/cycle", "{instruction}/{cycle}", 1},
    FindingUnit{"%/(100 GB/s)", "s/By", 1e13},
};

constexpr std::array suffixes{
    UnitSuffix{"1", "ratio"},
    UnitSuffix{"s", "seconds"},
    UnitSuffix{"By", "bytes"},
    UnitSuffix{"By/s", "bytes_per_second"},
    UnitSuffix{"Hz", "hertz"},
    UnitSuffix{"W", "watts"},
    UnitSuffix{"Cel", "celsius"},
    UnitSuffix{"s/By", "seconds_per_byte"},
    UnitSuffix{"{instruction}/{cycle}", "instructions_per_cycle"},
};

constexpr std::array<std::string_view, 5> statistics{"p50", "p90", "p99", "max", "min"};

std::string with_underscores(std::string_view name) {
  std::string out{name};
  for (char& letter : out) {
    const bool plain =
        (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
    letter = plain ? letter : '_';
  }
  return out;
}

}  // namespace

std::span<const KnownMetric> known_metrics() { return known; }

const KnownMetric& known_metric(Known id) { return known.at(static_cast<size_t>(id)); }

std::span<const FindingUnit> finding_units() { return units; }

std::span<const UnitSuffix> unit_suffixes() { return suffixes; }

std::string prometheus_metric_name(std::string_view name, std::string_view ucum, MetricKind kind) {
  std::string out = with_underscores(name);
  const auto* const suffix =
      std::find_if(suffixes.begin(), suffixes.end(), [&](const UnitSuffix& each) { return each.ucum == ucum; });
  if (suffix != suffixes.end()) {
    out.append("_").append(suffix->suffix);
  }
  if (kind == counter) {
    out += "_total";
  }
  return out;
}

std::string prometheus_label_name(std::string_view name) {
  constexpr std::string_view own = "kvet.";
  return with_underscores(name.starts_with(own) ? name.substr(own.size()) : name);
}

FindingName finding_name(std::string_view id, std::string_view unit) {
  FindingName out;
  std::string_view stem = id;
  for (const std::string_view statistic : statistics) {
    if (stem.size() > statistic.size() + 1 && stem.ends_with(statistic) &&
        stem[stem.size() - statistic.size() - 1] == '.') {
      out.statistic = statistic;
      stem.remove_suffix(statistic.size() + 1);
      break;
    }
  }
  constexpr std::string_view percent = ".percent";
  const bool limited = stem.ends_with(percent);
  if (limited) {
    stem.remove_suffix(percent.size());
  }
  out.name = "kvet.";
  out.name.append(stem).append(limited ? ".utilization" : "");
  const auto* const base =
      std::find_if(units.begin(), units.end(), [&](const FindingUnit& each) { return each.unit == unit; });
  if (base != units.end()) {
    out.ucum = base->ucum;
    out.divisor = base->divisor;
  } else {
    out.ucum = "{" + with_underscores(unit) + "}";
  }
  return out;
}

}  // namespace kvet::exporting
