// Which multiprocessor takes which block.
#pragma once

#include "device/world.h"

namespace simcuda {

// Puts up to `wanted` blocks where they fit, the emptiest multiprocessor first. Returns how many found room and notes
// where in `count`.
uint32_t place_blocks(Device& device, const BlockCost& cost, uint64_t wanted, uint8_t (&count)[multiprocessors]);
void release_blocks(Device& device, const BlockCost& cost, const uint8_t (&count)[multiprocessors]);

}  // namespace simcuda
