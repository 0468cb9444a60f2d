#include "questions/make_finding.h"
#include "questions/occupancy_parts.h"

namespace kvet::questions {

void add_own(std::vector<Finding>& findings, const Capture&, const KernelSet& kernels, const std::vector<DeviceTimeline>&, const std::vector<DeviceSamples>&,
             std::optional<double>, const std::string&) {
  findings.push_back(unavailable(Question::occupancy, "occupancy.corun.own", kernels.label, "%", "warps are not yet split between siblings", "see occupancy.corun.device"));
}

}  // namespace kvet::questions
