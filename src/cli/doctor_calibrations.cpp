// How doctor says what was measured of each GPU's DRAM.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "cli/doctor_report.h"
#include "gpu_work/context.h"
#include "report/json.h"

namespace kvet::cli {

namespace {

using capability::Calibration;
using capability::FoundCalibration;
using report::Json;

std::string terabytes(uint64_t bytes_per_second) {
  return fmt::format("{:.3f}", static_cast<double>(bytes_per_second) / 1e12);
}

double part_of_peak(const Calibration& calibration, uint64_t rate) {
  return static_cast<double>(rate) / static_cast<double>(calibration.peak_bytes_per_second);
}

std::string age_of(int64_t seconds) {
  constexpr int64_t minute = 60, hour = 60 * minute, day = 24 * hour;
  if (seconds < 2 * minute) {
    return "just now";
  }
  const auto [unit, name] = seconds < 2 * hour  ? std::pair(minute, "minutes")
                            : seconds < 2 * day ? std::pair(hour, "hours")
                                                : std::pair(day, "days");
  return fmt::format("{} {} ago", seconds / unit, name);
}

constexpr const char* row_names[] = {"reads", "writes", "1:1 reads and writes", "2:1 reads and writes",
                                     "random 32-byte sectors"};
static_assert(std::size(row_names) == capability::calibrated_rates.size());

std::string facts(const Calibration& calibration, int64_t now_s) {
  std::string text =
      fmt::format("measured {} ({}), driver {}", age_of(now_s - capability::seconds_of(calibration.time)),
                  calibration.time, calibration.driver_version);
  if (calibration.power_limit_mw != 0) {
    text += fmt::format(", power limit {} W", calibration.power_limit_mw / 1000);
  }
  if (calibration.peak_bytes_per_second != 0) {
    text += fmt::format(", peak in theory {} TB/s", terabytes(calibration.peak_bytes_per_second));
  }
  return text;
}

}  // namespace

std::vector<std::string> calibration_lines(const DoctorFindings& findings) {
  std::vector<std::string> lines;
  for (const FoundCalibration& found : findings.calibrations) {
    if (!found.ignored.empty()) {
      lines.push_back(fmt::format("{}: ignored: {}", printable(found.path), printable(found.ignored)));
      continue;
    }
    const Calibration& calibration = found.calibration;
    lines.push_back(
        fmt::format("{} ({}): {}", printable(calibration.name), found.uuid, facts(calibration, findings.now_s)));
    for (size_t i = 0; i < calibration.rates.size(); ++i) {
      const capability::CalibratedRate& rate = calibration.rates[i];
      std::string line = fmt::format("  {:<24}{:>7} TB/s", row_names[i], terabytes(rate.best));
      if (calibration.peak_bytes_per_second != 0) {
        line += fmt::format(" ({:.1f}% of peak)", 100 * part_of_peak(calibration, rate.best));
      }
      lines.push_back(line + fmt::format(", median {}, lowest {}", terabytes(rate.median), terabytes(rate.lowest)));
    }
    for (const std::string& note : calibration.notes) {
      lines.push_back("  note: " + printable(note));
    }
  }
  for (const capability::Gpu& gpu : findings.assessment.driver.gpus) {
    const std::string uuid = gpu_work::uuid_digits(gpu.uuid);
    if (std::ranges::none_of(findings.calibrations, [&](const auto& found) { return found.uuid == uuid; })) {
      lines.push_back(
          fmt::format("{} ({}): not measured. kvet doctor --calibrate does it, in some seconds on an idle GPU",
                      printable(gpu.model), printable(gpu.uuid)));
    }
  }
  return lines;
}

Json calibrations_json(const DoctorFindings& findings) {
  Json list = Json::array();
  for (const FoundCalibration& found : findings.calibrations) {
    Json one = Json::object().set("uuid", found.uuid).set("path", found.path).set("ignored", found.ignored);
    if (found.ignored.empty()) {
      const Calibration& calibration = found.calibration;
      const auto known = [](uint64_t value) { return value == 0 ? Json() : Json(value); };
      one.set("name", calibration.name)
          .set("time", calibration.time)
          .set("age_s", std::max<int64_t>(0, findings.now_s - capability::seconds_of(calibration.time)))
          .set("driver_version", calibration.driver_version)
          .set("kvet_version", calibration.kvet_version)
          .set("power_limit_mw", known(calibration.power_limit_mw))
          .set("memory_clock_mhz", known(calibration.memory_clock_mhz))
          .set("peak_bytes_per_second", known(calibration.peak_bytes_per_second))
          .set("buffer_bytes", calibration.buffer_bytes);
      Json rates = Json::object();
      for (size_t i = 0; i < calibration.rates.size(); ++i) {
        const capability::CalibratedRate& rate = calibration.rates[i];
        rates.set(std::string(capability::calibrated_rates[i]),
                  Json::object()
                      .set("bytes_per_second", rate.best)
                      .set("part_of_peak",
                           calibration.peak_bytes_per_second == 0 ? Json() : Json(part_of_peak(calibration, rate.best)))
                      .set("median_bytes_per_second", rate.median)
                      .set("lowest_bytes_per_second", rate.lowest)
                      .set("globaltimer_bytes_per_second", known(rate.by_globaltimer))
                      .set("blocks_per_multiprocessor", rate.blocks_per_multiprocessor)
                      .set("threads", rate.threads)
                      .set("rounds", rate.rounds));
      }
      Json notes = Json::array();
      for (const std::string& note : calibration.notes) {
        notes.push(note);
      }
      one.set("dram", rates).set("notes", notes);
    }
    list.push(one);
  }
  return list;
}

}  // namespace kvet::cli
