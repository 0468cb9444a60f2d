// kvet record: from a command or a running process to a capture file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "record/tier.h"

namespace kvet::record {

enum class Counters : uint8_t { pm, gpm, off };

struct RecordOptions {
  std::string output;
  std::optional<int32_t> pid;        // exactly one of pid and command
  std::vector<std::string> command;
  std::optional<int64_t> duration_ns;
  int64_t delay_ns = 0;
  Counters counters = Counters::pm;
  std::optional<int64_t> interval_ns;  // of the counters; empty: the sampler's default
  std::optional<int64_t> burst_ns, burst_every_ns;  // bursts of finer samples: length (0: none), mean distance
  // Short kernels of kvet's own before and after, which fix the counters' clock. Empty: while no target runs; opening a
  // context keeps a running one's calls waiting, and takes memory from it.
  std::optional<bool> pulses;
  bool detail = false;  // of the counters: instructions, tensor cycles and L2 sectors, too
  TierChoice tier = TierChoice::automatic;
  bool discard = false;  // the injected library throws its records away
  std::vector<std::pair<std::string, std::string>> meta;
  std::string kvet_version;
  std::string sampler_program = "/proc/self/exe";  // empty: neither counters nor NVML readings
};

struct RecordOutcome {
  int exit_code = 0;  // the command's, as a shell sees it; 0 where there is none or it was left to run
  std::string summary;  // one line
};

// Errors leave no file behind, except where the file itself could not be finished. Messages for the person go to stderr.
// Called once per process: it handles signals, and it leaves breakpoints in nobody.
[[nodiscard]] Result<RecordOutcome> record(const RecordOptions& options);

}  // namespace kvet::record
