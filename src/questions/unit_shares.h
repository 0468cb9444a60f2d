// K's own share, beside siblings, of what the whole device counts: dram.own, l2.own, instructions.own and tensor.own.
#pragma once

#include <vector>

#include "questions/dram_parts.h"
#include "questions/residency.h"
#include "questions/share_estimate.h"

namespace kvet::questions {

struct ShareDevice {
  const DramDevice* device = nullptr;
  const DeviceResidency* residency = nullptr;
};

// dram.own (with .percent and .share), dram.corun.sibling, dram.corun.unexplained, l2.own, instructions.own, tensor.own.
void add_shares(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                const std::vector<ShareDevice>& devices, double peak_bytes);

}  // namespace kvet::questions
