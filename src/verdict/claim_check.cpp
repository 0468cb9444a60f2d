#include "verdict/claim_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/gpu_name.h"

namespace kvet::verdict {
namespace {

constexpr double factor_of_suspicion = 10;

std::string duration(double ns) {
  return ns >= 1e9   ? fmt::format("{:.3g} s", ns / 1e9)
         : ns >= 1e6 ? fmt::format("{:.3g} ms", ns / 1e6)
         : ns >= 1e3 ? fmt::format("{:.3g} µs", ns / 1e3)
                     : fmt::format("{:.3g} ns", ns);
}

// Of an execution of the set, in the blocks of one arm; 0: none ran.
double mean_execution_ns(const std::vector<const BlockSummary*>& blocks, Arm arm) {
  double time = 0, executions = 0;
  for (const BlockSummary* block : blocks) {
    if (block->arm == arm && block->identity.kind != "aa") {
      time += block->set_time_ns;
      executions += static_cast<double>(block->set_executions);
    }
  }
  return executions > 0 ? time / executions : 0;
}

}  // namespace

std::vector<Cause> check_claim(const Claim& claim, const std::vector<const BlockSummary*>& blocks) {
  std::vector<Cause> cautions;
  std::set<std::string> others;
  for (const BlockSummary* block : blocks) {
    for (const DeviceIdentity& device : block->devices) {
      if (!claim.device.empty() && !device.name.empty() && !may_be_one_gpu(claim.device, device.name)) {
        others.insert(device.name);
      }
    }
  }
  if (!others.empty()) {
    cautions.push_back({"claim_other_gpu",
                        fmt::format("claim measured on {}, captures on {}", claim.device, *others.begin()),
                        "measure the claim on the GPU that the workload runs on"});
  }
  if (!claim.known_correct) {
    cautions.push_back({"claim_unverified", "not known to be correct: the file does not say that the result is right",
                        "test the candidate's results before its speed counts"});
  }
  const double baseline = mean_execution_ns(blocks, Arm::baseline),
               candidate = mean_execution_ns(blocks, Arm::candidate);
  if (claim.baseline_ns && claim.candidate_ns && baseline > 0 && candidate > 0) {
    const double above = std::min(*claim.baseline_ns / baseline, *claim.candidate_ns / candidate);
    const double below = std::min(baseline / *claim.baseline_ns, candidate / *claim.candidate_ns);
    if (std::max(above, below) >= factor_of_suspicion) {
      cautions.push_back(
          {"claim_units",
           fmt::format("the claim's times ({} and {}) are {:.0f} times as {} as the set's executions here ({} and {}): "
                       "another unit, or another shape",
                       duration(*claim.baseline_ns), duration(*claim.candidate_ns), std::max(above, below),
                       above > below ? "long" : "short", duration(baseline), duration(candidate)),
           "see that the file's times are in the unit that its format has, and of the shapes that the workload runs"});
    }
  }
  return cautions;
}

}  // namespace kvet::verdict
