// One block, that is one run of one arm, as plain numbers: the second pass over a capture.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/claim.h"
#include "verdict/counts_check.h"
#include "verdict/kernel_set_finder.h"
#include "verdict/steps.h"

namespace kvet::verdict {

// What validate wrote into the capture about the experiment (meta experiment.*).
struct BlockIdentity {
  std::string experiment, kind;  // kind: "ab", "aa", …; "" for a capture that was recorded by hand
  std::string recorded_arm;      // "baseline", "candidate" or ""
  std::optional<int64_t> quad, position;
  std::optional<double> metric, claim;
  std::optional<Claim> claim_source;  // where it came from a file
  bool metric_higher_is_better = true;
  std::optional<uint64_t> fixed_quads;  // the number of quads that was fixed beforehand, instead of looks
  std::string check;  // "passed", "failed", "unchecked" or ""
  std::vector<double> isolated;  // log ratios, one per pair of isolated runs of the experiment; empty: none
};
BlockIdentity identity_of(const Capture& capture);

struct DeviceIdentity {
  std::string uuid, name;
  std::optional<uint32_t> power_limit_milliwatts;
  friend auto operator<=>(const DeviceIdentity&, const DeviceIdentity&) = default;
};

struct LossLine {
  std::string what;
  uint64_t count = 0;
};

// Parts of the wall time of the steps, in ns per step and device.
struct BlockLedger {
  double set_alone = 0, set_beside = 0, copies = 0, collectives = 0, idle = 0;
  std::map<std::string, double> kernels;  // other kernels by raw name
  double wall = 0;                        // measured apart from the parts
  double idle_before_set = 0;             // part of idle: directly in front of an execution of the set
};

struct BlockSummary {
  std::string path;
  Arm arm = Arm::baseline;
  BlockIdentity identity;
  bool complete = false;
  std::string tier, driver_version;
  std::vector<DeviceIdentity> devices;  // those on which the set ran, sorted

  uint64_t steps = 0;
  std::optional<double> step_median_ns;
  double set_time_ns = 0;  // union on each device over the window, summed over devices
  uint64_t executions = 0;  // of any kernel, in the window
  uint64_t set_executions = 0;
  uint64_t set_executions_outside = 0;  // before or after the window
  std::optional<double> set_time_per_step_ns;
  double set_share_outside_steps = 0;  // of set_time_ns; for steps with a duration

  // Level 2: the set's time per step if every execution had taken what solo ones of the same shape take.
  std::optional<double> solo_time_per_step_ns;
  double solo_coverage = 0;  // share of executions whose shape has solo ones
  uint64_t solo_executions = 0;

  std::vector<double> slices;  // set time per step in equal parts of the run, for single captures
  // Two partitions: of the steps' own time, where the steps have one and do not overlap, and of the whole window. A
  // comparison uses the first where every block has it.
  std::optional<BlockLedger> step_ledger, window_ledger;
  std::optional<double> sm_clock_hz;  // mean over the window
  double shared_executions_per_step = 0;  // of kernels outside the set

  CountsCheck counts;
  std::vector<LossLine> losses;  // of records that the verdict rests on
  std::optional<int64_t> clock_residual_ns;
  // Blocks that the counters saw complete ÷ blocks of the recorded executions (quality.blocks). Empty where the counters
  // were not read, lost samples, or sit on a clock that could not be aligned.
  std::optional<double> blocks_ratio;
};

BlockSummary summarise(const Capture& capture, Arm arm, const KernelSetDefinition& set, const StepDefinition& steps);

// What makes a capture unfit to carry a word, whatever it says about the kernels: not finished, no executions in the window,
// lost records, counts that disagree. Sentences; empty: fit.
std::vector<std::string> recording_faults(const Capture& capture);

inline constexpr double least_solo_coverage = 0.9;
inline constexpr size_t slices_per_run = 8;

}  // namespace kvet::verdict
