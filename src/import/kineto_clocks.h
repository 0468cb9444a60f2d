// Several traces of one run: do they belong together, and how do their clocks?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/kineto_events.h"

namespace kvet::importing {

struct KinetoTrace {
  std::string name;
  KinetoFacts facts;
  KinetoSummary summary;  // before any shift
};

struct KinetoClock {
  std::vector<int64_t> shifts_ns;  // one per trace
  std::optional<int64_t> base_ns;  // Unix time of the capture's 0, where it is known
  std::string description;         // for the meta key import.clock
};

// Refuses two traces of one rank, and ranks of jobs of different sizes.
Result<void> ranks_of_one_run(const std::vector<KinetoTrace>& traces);

// Kineto's times are Unix time, less a base that newer versions write down. Where all traces have a base, or none has, they share
// that clock (as far as their hosts do), and must overlap. Else nothing leads from one to the other, and each trace's first event
// is put at 0.
Result<KinetoClock> common_clock(const std::vector<KinetoTrace>& traces);
[[nodiscard]] KinetoClock own_clock(const KinetoTrace& trace);

}  // namespace kvet::importing
