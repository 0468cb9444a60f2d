// What `kvet doctor` found, and how it says it.
#pragma once

#include <string>
#include <vector>

#include "capability/assess.h"
#include "capability/calibration.h"
#include "capability/first_instruction.h"
#include "capability/hit_cost.h"
#include "report/json.h"

namespace kvet::cli {

struct LookedAtFunction {
  std::string name;
  capability::FirstInstruction instruction;
  capability::FirstBytes bytes;
};
struct ProbedLibrary {
  std::string path;
  std::vector<LookedAtFunction> functions;
  std::vector<std::string> missing;  // functions that this version does not export
};

struct DoctorFindings {
  std::string kernel;  // "Linux 6.18.0 x86_64"
  capability::Assessment assessment;
  std::vector<ProbedLibrary> libraries;
  capability::HitCost cost;
  std::vector<capability::FoundCalibration> calibrations;
  int64_t now_s = 0;  // seconds since 1970, for the age of these
};

[[nodiscard]] std::string doctor_text(const DoctorFindings& findings);  // at most 100 columns wide
[[nodiscard]] std::string doctor_json(const DoctorFindings& findings);  // docs/doctor-schema.md

// Their parts about DRAM.
[[nodiscard]] std::vector<std::string> calibration_lines(const DoctorFindings& findings);
[[nodiscard]] report::Json calibrations_json(const DoctorFindings& findings);

}  // namespace kvet::cli
