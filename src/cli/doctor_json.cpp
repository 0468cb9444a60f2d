#include <fmt/core.h>

#include "base/version.h"
#include "cli/doctor_report.h"
#include "report/json.h"

namespace kvet::cli {

namespace {

using namespace capability;
using report::Json;

Json requirements(const Assessment& assessment) {
  Json list = Json::array();
  for (const Requirement& requirement : assessment.requirements) {
    list.push(Json::object()
                  .set("id", requirement.id)
                  .set("part", name(requirement.part))
                  .set("name", requirement.name)
                  .set("state", name(requirement.state))
                  .set("needed", requirement.needed)
                  .set("detail", requirement.detail)
                  .set("why", requirement.why)
                  .set("fix", requirement.fix));
  }
  return list;
}

Json gpus(const Driver& driver) {
  Json list = Json::array();
  for (const Gpu& gpu : driver.gpus) {
    list.push(Json::object().set("model", gpu.model).set("uuid", gpu.uuid).set("bus", gpu.bus));
  }
  return list;
}

Json found(const std::vector<FoundLibrary>& libraries) {
  Json list = Json::array();
  for (const FoundLibrary& library : libraries) {
    list.push(Json::object().set("path", library.path).set("how", library.how));
  }
  return list;
}

Json probed(const std::vector<ProbedLibrary>& libraries) {
  Json list = Json::array();
  for (const ProbedLibrary& library : libraries) {
    Json functions = Json::array();
    for (const LookedAtFunction& function : library.functions) {
      std::string bytes;
      for (uint8_t byte : function.bytes) {
        bytes += fmt::format("{:02x}", byte);
      }
      functions.push(Json::object()
                         .set("name", function.name)
                         .set("first_instruction", name(function.instruction))
                         .set("emulated", emulated(function.instruction))
                         .set("bytes", bytes));
    }
    Json missing = Json::array();
    for (const std::string& function : library.missing) {
      missing.push(function);
    }
    list.push(Json::object().set("path", library.path).set("functions", functions).set("missing", missing));
  }
  return list;
}

}  // namespace

std::string doctor_json(const DoctorFindings& findings) {
  const Assessment& assessment = findings.assessment;
  const HitCost& cost = findings.cost;
  Json root = Json::object();
  root.set("schema", "kvet.doctor/1")
      .set("kvet_version", version())
      .set("kernel", findings.kernel)
      .set("tier", Json::object().set("command", name(assessment.command)).set("pid", name(assessment.running)))
      .set("requirements", requirements(assessment))
      .set("driver_version", assessment.driver.version)
      .set("gpus", gpus(assessment.driver))
      .set("libraries", Json::object()
                            .set("libcuda", found(assessment.libcuda))
                            .set("libcupti", found(assessment.libcupti))
                            .set("libnccl", found(assessment.libnccl)))
      .set("hit_cost", Json::object()
                           .set("push_ns", cost.push_ns)
                           .set("endbr64_ns", cost.endbr64_ns)
                           .set("other_ns", cost.other_ns)
                           .set("return_ns", cost.return_ns)
                           .set("reason", cost.reason))
      .set("probed", probed(findings.libraries))
      .set("calibrations", calibrations_json(findings));
  return root.dump(2) + '\n';
}

}  // namespace kvet::cli
