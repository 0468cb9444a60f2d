// Names of GPUs, as different tools write them.
#pragma once

#include <string_view>

namespace kvet {

// Whether two names may mean one GPU: every word of one is in the other ("H100", "NVIDIA_H100" and "NVIDIA H100 80GB HBM3"; but not
// "H100 PCIe"). The words NVIDIA, AMD, GeForce and Tesla say nothing; case, '_', '-' and '/' neither.
[[nodiscard]] bool may_be_one_gpu(std::string_view one, std::string_view other);

}  // namespace kvet
