// Where the wall time of a step went on the device.
#pragma once

#include "verdict/block_summary.h"

namespace kvet::verdict {

// Collectives are recognised by NCCL's kernel names.
bool is_collective_kernel(std::string_view raw_name);

// Partition a wall time; at each moment exactly one row has it: the set, alone or beside siblings; else the other
// kernels, in equal parts when several run; else collectives; else copies; else idle.
// Of the steps' own time. Empty where steps overlap each other: then a moment belongs to more than one.
std::optional<BlockLedger> partition_steps(const Capture& capture, const questions::KernelSet& set,
                                           const std::vector<Step>& steps);
// Of the window (without one: from the first execution to the last end), divided by the number of steps.
std::optional<BlockLedger> partition_window(const Capture& capture, const questions::KernelSet& set,
                                            const std::vector<Step>& steps, const Window& window);

// Executions of the set during which no execution of another stream ran on the device, by index into executions.
std::vector<bool> solo_executions(const Capture& capture, const questions::KernelSet& set);

}  // namespace kvet::verdict
