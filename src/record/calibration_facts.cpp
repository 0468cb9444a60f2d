#include "record/calibration_facts.h"

#include <fmt/core.h>

#include <algorithm>

#include "capability/gpu.h"

namespace kvet::record {

namespace {

// "GPU-0123…" as 32 lower-case digits.
std::string digits_of(std::string_view uuid) {
  std::string digits;
  for (const char c : uuid.starts_with("GPU-") ? uuid.substr(4) : uuid) {
    if (c != '-') {
      digits += static_cast<char>(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
    }
  }
  return digits;
}

}  // namespace

CalibrationFacts calibration_facts(const std::vector<capability::FoundCalibration>& found,
                                   const std::vector<std::string>& uuids) {
  CalibrationFacts result;
  for (const capability::FoundCalibration& one : found) {
    if (std::ranges::find(uuids, one.uuid) == uuids.end()) {
      continue;  // a home folder may be shared by machines
    }
    if (!one.ignored.empty()) {
      result.ignored.push_back(fmt::format("{}: this calibration is ignored: {}", one.path, one.ignored));
      continue;
    }
    const std::string prefix = "calibration.dram." + one.uuid + '.';
    for (size_t i = 0; i < one.calibration.rates.size(); ++i) {
      result.facts.emplace_back(prefix + std::string(capability::calibrated_rates[i]),
                                std::to_string(one.calibration.rates[i].best));
    }
    result.facts.emplace_back(prefix + "time", one.calibration.time);
  }
  return result;
}

CalibrationFacts calibration_facts() {
  const capability::Driver driver = capability::driver(capability::System::current());
  std::vector<std::string> uuids;
  for (const capability::Gpu& gpu : driver.gpus) {
    uuids.push_back(digits_of(gpu.uuid));
  }
  return calibration_facts(capability::find_calibrations(capability::calibration_folders(), driver.version), uuids);
}

}  // namespace kvet::record
