// Planted faults, chosen by $KVET_SIMCUDA_MUTANT. A test that holds a capture against the truth must fail under each.
#pragma once

#include <cstdint>

#include "cuda/observer.h"

namespace simcuda::cupti {

// Changes an execution as the chosen mutant does. Returns how often it is to be delivered: once, or never, or twice.
uint32_t mutate(simcuda_execution& execution);
bool mutant_drops_call(const simcuda_call& call);
// Counter samples that read zero although something ran.
bool mutant_blanks_sample(uint64_t number);
// Records that a mutant drops the honest way: counted by cuptiActivityGetNumDroppedRecords.
uint64_t mutant_counted_drops();

}  // namespace simcuda::cupti
