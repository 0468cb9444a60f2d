// What `kvet doctor --calibrate` measured on this machine, as facts of a capture: whoever reads it elsewhere knows what the DRAM
// could have given.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "capability/calibration.h"

namespace kvet::record {

struct CalibrationFacts {
  std::vector<std::pair<std::string, std::string>> facts;  // keys and values for `meta`
  std::vector<std::string> ignored;  // sentences on files that do not count
};

// Of the GPUs in `uuids` (32 digits each).
[[nodiscard]] CalibrationFacts calibration_facts(const std::vector<capability::FoundCalibration>& found,
                                                 const std::vector<std::string>& uuids);
// Of this machine, now.
[[nodiscard]] CalibrationFacts calibration_facts();

}  // namespace kvet::record
