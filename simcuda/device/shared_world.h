// Finds the modelled machine: the file that $KVET_SIMCUDA_DEVICE names (made on first use, and then shared by every process
// that names it: ranks, the sampler), or a machine of this process's own.
#pragma once

#include <cstdint>

#include "device/world.h"

namespace simcuda {

// The world, mapped once per process; nullptr where the file cannot be used. $KVET_SIMCUDA_DEVICES says how many devices a
// new one gets (default 1).
World* shared_world();

// CLOCK_MONOTONIC.
int64_t monotonic_ns();

// Holds the world's lock; the world has been advanced to the present when the constructor returns.
class Locked {
 public:
  explicit Locked(World& world);
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  World* operator->() const { return &world_; }
  World& operator*() const { return world_; }

 private:
  World& world_;
};

}  // namespace simcuda
