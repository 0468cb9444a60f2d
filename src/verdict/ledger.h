// Where the wall time of a step went on the device.
#pragma once

#include "verdict/block_summary.h"

namespace kvet::verdict {

// Collectives are recognised by NCCL's kernel names.
bool is_collective_kernel(std::string_view raw_name);

// Partitions the wall time of the steps; at each moment exactly one row: the set, alone or beside siblings; else the
// other kernels, in equal parts when several run; else collectives; else copies; else idle. For steps without a duration
// of their own, or that overlap each other, the wall is the window's time ÷ steps.
std::optional<BlockLedger> partition(const Capture& capture, const questions::KernelSet& set,
                                     const std::vector<Step>& steps, bool steps_have_duration, const Window& window);

// Executions of the set during which no execution of another stream ran on the device, by index into executions.
std::vector<bool> solo_executions(const Capture& capture, const questions::KernelSet& set);

}  // namespace kvet::verdict
