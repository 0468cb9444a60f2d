// Moves the modelled machine through time. Pure: it reads no clock and makes no system call; the caller holds the lock and
// says what time it is. Given the same submissions at the same times it computes the same starts and ends.
#pragma once

#include <cstdint>

#include "device/world.h"

namespace simcuda {

void initialise(World& world, uint32_t devices, int64_t now_ns);

// Everything that happens up to and including `to_ns` happens. Time does not go back: an earlier `to_ns` does nothing.
void advance(World& world, int64_t to_ns);

// When the next thing will happen if nobody submits anything; `never` if nothing will.
int64_t next_event_ns(const World& world);

// An operation to be filled in and submitted; `none` when all are in use.
uint32_t allocate_operation(World& world);
// At the end of its stream's queue, at world.now_ns. The stream, kind and payload must be set; ids are kept.
void submit(World& world, uint32_t operation);
void free_operation(World& world, uint32_t operation);

// A host function has returned at world.now_ns.
void finish_host_function(World& world, uint32_t operation);

// Ends everything of a process that is gone and frees what it held.
void remove_process(World& world, uint32_t process);

uint32_t create_stream(World& world,
                       const Stream& wanted);  // process, device, ids and priority are taken; `none`: full

// What a block of this shape holds on a multiprocessor: warps, registers and shared memory, rounded as the hardware does.
BlockCost block_resources(uint32_t threads, uint32_t registers_per_thread, uint32_t static_shared,
                          uint32_t dynamic_shared);
// Blocks of that cost that fit on one empty multiprocessor.
uint32_t blocks_that_fit(const BlockCost& cost);

// Sums over [from_ns, to_ns), which must be in the past. Times before the oldest kept segment count as idle.
struct Totals {
  double warp_ns, register_ns, shared_byte_ns, active_multiprocessor_ns;
  double warps_fullest_ns, warps_emptiest_ns;
  double read_bytes, write_bytes, instructions;
  double warps_launched, blocks_completed;
  bool truncated;  // part of the interval is older than what is kept
};
Totals totals(const World& world, uint32_t device, int64_t from_ns, int64_t to_ns);

}  // namespace simcuda
