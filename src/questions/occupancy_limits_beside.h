// Blocks of two kernels on one SM: arithmetic on launch parameters, by the rule for carve-outs in carve_out.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/events.h"
#include "questions/occupancy_limits.h"

namespace kvet::questions {

struct Beside {
  uint32_t blocks = 0;
  std::vector<Limiter> limiters;  // all that bind
  // Where the carve-out recorded for the resident kernel has room for fewer: how many, until the SM has drained and the driver
  // changed it.
  std::optional<uint32_t> blocks_in_residents_carve_out;
};
// How many blocks of `shape` still fit on an SM that holds `count` blocks of `other`.
Beside fits_beside(const SmLimits& limits, const KernelShape& shape, const KernelShape& other, uint32_t count);

// How many blocks of a launch are on an SM at the most: what fits, and what its grid has for each SM.
uint32_t resident_blocks(const Theoretical& theoretical, const KernelShape& shape, uint32_t sms);

// The largest block that still finds room beside `count` blocks of `other`. Each value is a limit of its own, whatever the others
// are; all three have to hold. 0: nothing is left of that resource.
struct CoresidentLimit {
  uint32_t shared_bytes = 0;  // static + dynamic, in the largest carve-out
  uint32_t registers_per_thread = 0;  // with the threads that `shape` has now
  uint32_t threads = 0;  // with the registers per thread that it has now
  std::optional<uint32_t>
      carve_out;  // that the largest such block needs, where the resident kernel's recorded one is smaller
  uint32_t shared_bytes_in_carve_out =
      0;  // in the resident kernel's recorded carve-out; shared_bytes where it is the largest
};
CoresidentLimit coresident_limit(const SmLimits& limits, const KernelShape& shape, const KernelShape& other,
                                 uint32_t count);

}  // namespace kvet::questions
