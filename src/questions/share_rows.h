// What a share of a device-wide count is estimated from: per counter sample, the warp time of everybody who may have caused
// the count. One table serves every counter of the device.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/capture.h"
#include "questions/counter_pool.h"
#include "questions/residency.h"
#include "questions/timeline.h"

namespace kvet::questions {

// Somebody who causes counts.
enum class PartyKind : uint8_t {
  kernel,  // resident warps of one launch shape
  waiting,  // of a collective, before its last rank has begun: it spins
  transferring,  // of a collective, after that
  unexplained,  // warps that no recorded execution holds
};
struct Party {
  PartyKind kind = PartyKind::kernel;
  ShapeId shape;
  bool own = false;  // K
};

struct ShareRow {
  const Sample* sample = nullptr;
  size_t set = 0;  // of DeviceResidency::sets
  size_t block = 0;  // stretch of time: errors within one are taken for dependent
  double corun_ns = 0;  // K beside siblings, where the sample counts for that
  double length_ns = 0;
  bool resolved = false;  // else the warps are a best guess: such a row is split, and no coefficient is learned from it
  bool own = false, others = false;  // whether K, and anybody else, has warps in it
  std::vector<std::pair<size_t, double>> warp_ns;  // by party
  double copy_read_bytes = 0, copy_write_bytes = 0;  // what copies and memsets asked the memory for
};

struct ShareTable {
  std::vector<Party> parties;
  std::vector<ShareRow> rows;  // by start
  size_t blocks = 0;
  double corun_ns = 0;  // all of K's co-run time
  double sampled_ns = 0;  // of it in samples that count
  double unresolved_ns = 0;  // of that in samples whose residency is not resolved
  double unresolved_error = 0;  // of K's warps in those, relative
  bool inside =
      false;  // those samples lie wholly inside co-run time; else those with at least half of it count, by overlap
};

// `bands`: blocks of time that co-run samples are cut into.
ShareTable share_table(const Capture& capture, const KernelSet& kernels, const DeviceTimeline& timeline,
                       const DeviceSamples& samples, const DeviceResidency& residency, size_t bands = 30);

// When collectives of this device waited for their last rank, and when they transferred, as far as other ranks are in
// sight; both empty where they are not.
struct CollectivePhases {
  SpanSet waiting, transferring;
  std::vector<bool> is_collective;  // by ShapeId
};
CollectivePhases collective_phases(const Capture& capture, DeviceId device);

}  // namespace kvet::questions
