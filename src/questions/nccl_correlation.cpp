// nccl.correlation: does K's time on a rank go with the others' waiting, step by step?
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "questions/make_finding.h"
#include "questions/nccl_analysis.h"
#include "questions/nccl_statistics.h"

namespace kvet::questions {
namespace {

constexpr const char* id = "nccl.correlation";
// The course that both have in common (warming up, sequences that grow) is what is as slow as this; fixed beforehand, as the lag is:
// K's time of a step against the waiting of the same step.
constexpr size_t trend_window = 15;
constexpr size_t least_steps = 16;
constexpr size_t ranks_listed = 16;

struct Step {
  double time_ns = 0;
  uint64_t counted = 0, left_out = 0;
  double waited_ns = 0;
  bool waits_known = false;
};

// One rank's steps in order.
std::map<size_t, Step> steps_of(const Capture& capture, const NcclAnalysis& analysis, const KernelSet& kernels,
                                uint32_t rank, const std::vector<double>& others_waited) {
  std::map<size_t, Step> steps;
  const RankWork& work = analysis.work[rank];
  for (uint32_t index : work.executions()) {
    const Execution& execution = capture.executions[index];
    if (!kernels.contains(execution.shape)) {
      continue;
    }
    const auto step = analysis.step_of(capture, rank, index);
    if (!step) {
      continue;
    }
    // A collective that waits spins, and slows what runs beside it: the reverse cause.
    if (work.beside_collective(execution)) {
      ++steps[*step].left_out;
    } else {
      ++steps[*step].counted;
      steps[*step].time_ns += static_cast<double>(execution.end_ns - execution.start_ns);
    }
  }
  for (size_t index = 0; index < analysis.measured.size(); ++index) {
    const Measured& one = analysis.measured[index];
    const auto step =
        one.rank == rank && one.execution ? analysis.step_of(capture, rank, *one.execution) : std::nullopt;
    if (step) {
      steps[*step].waited_ns += others_waited[index];
      steps[*step].waits_known = true;
    }
  }
  return steps;
}

}  // namespace

void append_correlation(std::vector<Finding>& findings, const Capture& capture, const NcclAnalysis& analysis,
                        const KernelSet& kernels) {
  auto missing = [&](const std::string& reason, const std::string& advice, const std::string& rank = {}) {
    Finding finding = unavailable(Question::nccl, id, kernels.label, "ratio", reason, advice);
    finding.beside = rank;
    findings.push_back(std::move(finding));
  };
  if (const auto none = no_answer(capture, analysis, kernels)) {
    missing(none->first, none->second);
    return;
  }
  if (analysis.steps.by == Steps::By::none) {
    missing("no steps were found: " + analysis.steps.how, "Mark the steps with NVTX ranges");
    return;
  }
  // By index into `measured`: what the other ranks waited in the same collective. Parts of one collective follow each other there.
  std::vector<double> others_waited;
  for (const Matched& matched : analysis.matches.collectives) {
    const size_t first = others_waited.size();
    double all = 0;
    for (size_t i = 0; i < matched.parts.size(); ++i) {
      all += analysis.measured[first + i].wait_ns;
    }
    for (size_t i = 0; i < matched.parts.size(); ++i) {
      others_waited.push_back(all - analysis.measured[first + i].wait_ns);
    }
  }
  for (uint32_t rank = 0; rank < std::min(analysis.collectives.ranks.size(), ranks_listed); ++rank) {
    const std::string& label = analysis.collectives.ranks[rank].label;
    std::vector<double> time, waited;
    uint64_t left_out = 0;
    for (const auto& [number, step] : steps_of(capture, analysis, kernels, rank, others_waited)) {
      left_out += step.left_out;
      if (step.counted > 0 && step.waits_known) {
        // Where some executions of the step are left out, the rest stand for them.
        time.push_back(step.time_ns * static_cast<double>(step.counted + step.left_out) /
                       static_cast<double>(step.counted));
        waited.push_back(step.waited_ns);
      }
    }
    if (time.size() < least_steps) {
      missing(fmt::format(
                  "only {} steps of this rank have both executions of the kernel apart from collectives and matched "
                  "collectives: it takes {}",
                  time.size(), least_steps),
              "Record for longer", label);
      continue;
    }
    const std::vector<double> own = without_trend(time, trend_window), others = without_trend(waited, trend_window);
    const auto correlation = rank_correlation(own, others);
    if (!correlation) {
      missing("the kernel's time, or the others' waiting, is the same in every step", "Record a workload that varies",
              label);
      continue;
    }
    Finding finding = found(
        Question::nccl, id, kernels.label, correlation->value, "ratio", Evidence::attributed, own.size(),
        fmt::format(
            "Rank correlation, over {} steps ({}), of the kernel's device time on {} with the other ranks' waiting "
            "in the same step, both less their course over {} steps; {} executions beside a collective are left out",
            own.size(), analysis.steps.how, label, trend_window, left_out));
    finding.interval = correlation->interval;
    finding.beside = label;
    findings.push_back(std::move(finding));
  }
}

}  // namespace kvet::questions
