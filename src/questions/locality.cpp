#include "questions/locality.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/quadrature.h"
#include "questions/make_finding.h"
#include "questions/timeline.h"

namespace kvet::questions {
namespace {

// A kernel that moves less than this per execution moves nothing: 1 KB, 32 sectors.
constexpr double nothing_bytes = 1024;

struct PerExecution {
  double bytes = 0, half = 0;
  std::string reason, advice;  // where it is not known
  bool known = false;
  const char* where = "";
  std::string source;  // of a figure that another tool read; "": measured here
  uint64_t observations = 0;
};

const Finding* with_value(const std::vector<Finding>& findings, std::string_view id) {
  const auto at = std::ranges::find(findings, id, &Finding::id);
  return at != findings.end() && at->value ? &*at : nullptr;
}

double half_of(const Finding& finding) {
  return finding.interval ? (finding.interval->high - finding.interval->low) / 2 : 0;
}

PerExecution per_execution(const Capture& capture, const KernelSet& kernels, const std::vector<Finding>& findings) {
  PerExecution result;
  double alone_ns = 0, beside_ns = 0, runs = 0;
  for (const DeviceTimeline& timeline : timelines(capture, kernels)) {
    alone_ns += static_cast<double>(timeline.alone.total());
    beside_ns += static_cast<double>(timeline.beside.total());
    runs += static_cast<double>(timeline.runs.size());
  }
  const Finding* alone = with_value(findings, "dram.solo");
  const Finding* own = with_value(findings, "dram.own");
  if (!(alone_ns + beside_ns > 0) || (alone == nullptr && own == nullptr)) {
    const auto solo = std::ranges::find(findings, "dram.solo", &Finding::id);
    result.reason = solo != findings.end() ? solo->reason : "the kernel did not run";
    result.advice = solo != findings.end() ? solo->advice : "choose another window or pattern";
    return result;
  }
  // A rate that is not known is taken from the other kind of time, which is said.
  const Finding& in_alone = alone != nullptr ? *alone : *own;
  const Finding& in_beside = own != nullptr ? *own : *alone;
  result.known = true;
  result.bytes = (*in_alone.value * alone_ns + *in_beside.value * beside_ns) / 1e9 / runs;
  result.half = in_quadrature(half_of(in_alone) * alone_ns, half_of(in_beside) * beside_ns) / 1e9 / runs;
  result.where = beside_ns <= 0                     ? "alone"
                 : own == nullptr                   ? "by what it moves alone"
                 : alone == nullptr && alone_ns > 0 ? "by its own share beside siblings"
                                                    : "alone and beside siblings together";
  result.observations = static_cast<uint64_t>(runs);
  return result;
}

Finding ratio_of(const KernelSet& kernels, const PerExecution& here, const PerExecution& there) {
  constexpr const char* id = "dram.locality";
  for (const auto& [each, what] : {std::pair{&here, "in the workload"}, std::pair{&there, "in the isolated capture"}}) {
    if (!each->known) {
      return unavailable(Question::dram, id, kernels.label, "ratio",
                         fmt::format("{} its bytes per execution are not known: {}", what, each->reason), each->advice);
    }
  }
  if (there.bytes < nothing_bytes || there.bytes <= there.half) {
    return unavailable(
        Question::dram, id, kernels.label, "ratio",
        fmt::format(
            "isolated, an execution moves {:.3g} MB, which cannot be told from nothing: the microbenchmark lived in "
            "L2; here it moves {:.3f} MB ({})",
            there.bytes / 1e6, here.bytes / 1e6, here.where),
        "give the microbenchmark more data than L2 holds, or flush L2 between its executions");
  }
  const double ratio = here.bytes / there.bytes;
  Finding finding =
      found(Question::dram, id, kernels.label, ratio, "ratio", Evidence::attributed, here.observations,
            fmt::format("An execution moves {:.3f} MB to and from DRAM here ({}) and {:.3f} MB isolated{}{}.",
                        here.bytes / 1e6, here.where, there.bytes / 1e6, there.source,
                        ratio > 1.1 && there.source.empty() ? ": the microbenchmark lived partly in L2" : ""));
  // First-order error of a ratio of two independent estimates.
  const double half = ratio * in_quadrature(here.bytes > 0 ? here.half / here.bytes : 0, there.half / there.bytes);
  finding.interval = Interval{std::max(0.0, ratio - half), ratio + half};
  return only_finite({finding}).front();
}

}  // namespace

Finding locality(const Capture& workload, const KernelSet& kernels, const Capture& isolated,
                 const KernelSet& isolated_kernels) {
  return ratio_of(kernels, per_execution(workload, kernels, dram(workload, kernels)),
                  per_execution(isolated, isolated_kernels, dram(isolated, isolated_kernels)));
}

Finding locality(const Capture& workload, const KernelSet& kernels, const std::vector<Finding>& findings, double there,
                 const std::string& where) {
  PerExecution isolated;
  isolated.known = true;
  isolated.bytes = there;
  isolated.source = " (" + where + ")";
  return ratio_of(kernels, per_execution(workload, kernels, findings), isolated);
}

}  // namespace kvet::questions
