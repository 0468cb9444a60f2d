// What the parts of the NCCL question share: collectives matched across ranks, and what each rank's part took.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/finding.h"
#include "questions/blame_path.h"
#include "questions/nccl_parts.h"
#include "questions/questions.h"
#include "questions/steps.h"

namespace kvet::questions {

inline constexpr const char* all_collectives = "collectives: all";
inline constexpr const char* record_all_ranks =
    "Record the launcher that starts all ranks: `kvet record -- torchrun ...`";
// Ranks whose clocks are milliseconds apart, which an import leaves as they are.
inline constexpr const char* merge_the_ranks =
    "Where the ranks' clocks differ, import each rank's file into a capture of its own; `kvet merge` of these aligns "
    "their "
    "clocks by the ends of collectives";

// What is measured of one rank's part in one matched collective.
struct Measured {
  uint32_t rank;
  CollectiveClass what;
  double wait_ns, transfer_ns;
  DeviceId device;
  int64_t start_ns, end_ns;  // by the aligned clock
  int64_t shift_ns;  // of that clock: start − shift is the capture's own time
  std::optional<uint32_t> execution;
};
// The rank that came last, of a collective whose ranks all depend on each other.
struct Late {
  uint32_t rank;
  CollectiveClass what;
  double margin_ns;             // before it everybody else had begun
  std::optional<bool> by_host;  // its call returned only after all others had begun
};

struct NcclAnalysis {
  Collectives collectives;
  MatchResult matches;
  std::vector<Measured> measured;
  std::vector<Late> late;
  Steps steps;
  std::vector<RankWork> work;  // by rank; empty where nothing was matched
  bool all_ranks = true;       // every matched collective had all its ranks in sight
  bool by_communicator = true;  // every matched collective was matched by its number on a communicator

  [[nodiscard]] double residual() const { return static_cast<double>(matches.residual_ns.value_or(0)); }
  // The step of a rank in which an execution was launched (or ran, where steps are found on the device).
  [[nodiscard]] std::optional<size_t> step_of(const Capture& capture, uint32_t rank, uint32_t execution) const;
};
[[nodiscard]] NcclAnalysis analyse_collectives(const Capture& capture);

// Why a question about K and collectives has no answer, if that is so before any measurement: reason and advice.
[[nodiscard]] std::optional<std::pair<std::string, std::string>> no_answer(const Capture& capture,
                                                                           const NcclAnalysis& analysis,
                                                                           const KernelSet& kernels);

// The parts. Each appends findings about K (or, blame, about whoever made ranks late), never none.
void append_contention(std::vector<Finding>& findings, const Capture& capture, const NcclAnalysis& analysis,
                       const KernelSet& kernels);
void append_blame(std::vector<Finding>& findings, const Capture& capture, const NcclAnalysis& analysis,
                  const KernelSet& kernels);
void append_correlation(std::vector<Finding>& findings, const Capture& capture, const NcclAnalysis& analysis,
                        const KernelSet& kernels);
void append_resident_wait(std::vector<Finding>& findings, const Capture& capture, const NcclAnalysis& analysis,
                          const KernelSet& kernels);

}  // namespace kvet::questions
