// Two accounts of the difference between the arms: the ledger of the step's wall time, and the factors between the
// reference (level 1, else the claim) and level 3.
#pragma once

#include "verdict/basis.h"
#include "verdict/verdict.h"

namespace kvet::verdict {

Ledger make_ledger(const std::vector<BlockSummary>& blocks, const Basis& basis);

// The share of the baseline's step in which the set runs: what the ceiling of levels 4 and 5 is made of. An upper limit
// of its share of the critical path, so that the ceiling is one.
std::optional<double> set_share_of_step(const std::vector<BlockSummary>& blocks, const Basis& basis);

std::vector<Factor> factors(const Basis& basis, double reference_log);

}  // namespace kvet::verdict
