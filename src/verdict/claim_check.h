// Whether a claim from a file was measured on what the captures were recorded on.
#pragma once

#include <string_view>
#include <vector>

#include "model/claim.h"
#include "verdict/block_summary.h"

namespace kvet::verdict {

// Whether two names may mean one GPU: every word of one is in the other ("H100", "NVIDIA_H100" and "NVIDIA H100 80GB HBM3"; but not
// "H100 PCIe"). The words NVIDIA, AMD, GeForce and Tesla say nothing; case, '_' and '-' neither.
[[nodiscard]] bool may_be_one_gpu(std::string_view one, std::string_view other);

// Cautions: "claim_other_gpu", and "claim_units" where both times of the claim lie at least ten times above, or below, the set's mean
// device time per execution in its arm.
std::vector<Cause> check_claim(const Claim& claim, const std::vector<const BlockSummary*>& blocks);

}  // namespace kvet::verdict
