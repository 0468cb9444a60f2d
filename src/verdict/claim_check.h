// Whether a claim from a file was measured on what the captures were recorded on.
#pragma once

#include <vector>

#include "model/claim.h"
#include "verdict/block_summary.h"

namespace kvet::verdict {

// Cautions: "claim_other_gpu", "claim_unverified" where the file leaves open whether the result is right, and "claim_units" where both times of the claim lie at least ten times above, or below, the set's mean
// device time per execution in its arm.
std::vector<Cause> check_claim(const Claim& claim, const std::vector<const BlockSummary*>& blocks);

}  // namespace kvet::verdict
