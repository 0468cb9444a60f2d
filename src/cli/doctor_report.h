// What `kvet doctor` found, and how it says it.
#pragma once

#include <string>
#include <vector>

#include "capability/assess.h"
#include "capability/first_instruction.h"
#include "capability/hit_cost.h"

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
};

[[nodiscard]] std::string doctor_text(const DoctorFindings& findings);  // at most 100 columns wide
[[nodiscard]] std::string doctor_json(const DoctorFindings& findings);  // docs/doctor-schema.md

}  // namespace kvet::cli
