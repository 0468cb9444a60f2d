#include "questions/nccl_analysis.h"

#include <algorithm>
#include <limits>

namespace kvet::questions {
namespace {

void measure(const Matched& matched, NcclAnalysis& analysis) {
  for (const Part& part : matched.parts) {
    int64_t latest = part.start_ns;
    for (const Part& other : matched.parts) {
      if (depends_on(part, other)) {
        latest = std::max(latest, other.start_ns);
      }
    }
    const int64_t wait = std::max<int64_t>(0, std::min(part.end_ns, latest) - part.start_ns);
    const int64_t transfer = std::max<int64_t>(0, part.end_ns - latest);
    analysis.measured.push_back({part.rank, part.what, static_cast<double>(wait), static_cast<double>(transfer),
                                 part.device, part.start_ns, part.end_ns, part.shift_ns, part.execution});
  }
  if (all_depend(matched.parts.front().what)) {
    const Part* last = nullptr;
    for (const Part& part : matched.parts) {
      last = last == nullptr || part.start_ns > last->start_ns ? &part : last;
    }
    int64_t second = std::numeric_limits<int64_t>::min();
    for (const Part& part : matched.parts) {
      second = &part == last ? second : std::max(second, part.start_ns);
    }
    Late late{last->rank, last->what, static_cast<double>(last->start_ns - second), std::nullopt};
    if (last->call_end_ns && matched.by == Sequence::By::communicator) {
      late.by_host = *last->call_end_ns + last->shift_ns > second;
    }
    analysis.late.push_back(late);
  }
  analysis.all_ranks = analysis.all_ranks && matched.all_ranks;
  analysis.by_communicator = analysis.by_communicator && matched.by_name;
}

}  // namespace

std::optional<size_t> NcclAnalysis::step_of(const Capture& capture, uint32_t rank, uint32_t execution) const {
  const Execution& one = capture.executions[execution];
  if (!steps.host_time) {
    return steps.at(one.process, one.start_ns);
  }
  const auto launched = work[rank].launched_at(execution);
  return launched ? steps.at(one.process, *launched) : std::nullopt;
}

NcclAnalysis analyse_collectives(const Capture& capture) {
  NcclAnalysis analysis;
  analysis.collectives = find_collectives(capture);
  analysis.matches = match_ranks(analysis.collectives);
  for (const Matched& matched : analysis.matches.collectives) {
    measure(matched, analysis);
  }
  if (!analysis.measured.empty()) {
    std::vector<std::pair<ProcessId, DeviceId>> ranks;
    for (const Rank& rank : analysis.collectives.ranks) {
      ranks.emplace_back(rank.process, rank.device);
    }
    analysis.work = work_of_ranks(capture, analysis.collectives.shape_is_nccl, ranks);
    analysis.steps = find_steps(capture, std::string(capture.fact("experiment.step")));
  }
  return analysis;
}

std::optional<std::pair<std::string, std::string>> no_answer(const Capture& capture, const NcclAnalysis& analysis,
                                                             const KernelSet& kernels) {
  const auto& is_nccl = analysis.collectives.shape_is_nccl;
  for (size_t shape = 0; shape < is_nccl.size(); ++shape) {
    if (is_nccl[shape] && kernels.contains(ShapeId{static_cast<uint32_t>(shape)})) {
      return std::pair{"this kernel is itself a collective", "Ask with --kernel about a kernel that computes"};
    }
  }
  if (analysis.collectives.ranks.empty()) {
    return std::pair{"no collective ran while this was recorded", "Record a workload that uses NCCL"};
  }
  if (analysis.measured.empty()) {
    return std::pair{"it takes collectives that are matched across ranks",
                     capture.fact("tier") == "imported" ? merge_the_ranks : record_all_ranks};
  }
  return std::nullopt;
}

}  // namespace kvet::questions
