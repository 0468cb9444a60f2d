// Takes filled CUPTI buffers from whatever thread brings them and turns them into batches, one thread at a time, without
// any thread ever waiting for another: whoever brings a buffer queues it; if nobody is collecting, it collects for all.
#pragma once

#include <atomic>
#include <cstdint>

#include "inject/buffers.h"
#include "inject/code_hash.h"
#include "inject/cupti.h"
#include "inject/emitter.h"
#include "inject/losses.h"
#include "inject/memory_ring.h"
#include "inject/pack.h"
#include "inject/table.h"

namespace kvet::inject {

class Collector {
 public:
  constexpr Collector() = default;

  // CUPTI's two callbacks.
  void buffer_requested(uint8_t** buffer, size_t* size, size_t* max_records);
  void buffer_completed(uint8_t* buffer, size_t valid_bytes);

  // Collects what is queued and sends losses, unless another thread is at it.
  void collect();

  // The last batch; buffers that come later are not read. Waits up to half a second for a thread that is collecting; false:
  // it was still at it. Calls no function of CUPTI.
  bool finish();

  // Set before activity is enabled.
  const Cupti* cupti = nullptr;
  int owner = 0;  // the process that all this belongs to: a forked child has neither its table nor its reader
  bool discard = false;
  uint64_t started_ns = 0;

  TableWriter table;
  MemoryRingWriter ring;
  Losses losses;
  BufferPool buffers;
  CodeHashes hashes;
  Emitter emitter{table, losses};

  // Buffers that came back so far: the flush thread sees by it whether CUPTI delivers by itself.
  uint64_t completed_buffers() const { return completed_buffers_.load(std::memory_order_relaxed); }

 private:
  void unpack(BufferPool::Buffer* buffer);
  void note_table_losses(uint64_t now_ns);

  Packer packer_{table, emitter, losses, hashes};
  std::atomic<bool> busy_{false};
  std::atomic<bool> closed_{false};
  std::atomic<uint64_t> completed_buffers_{0};
  uint64_t table_lost_ = 0;
};

}  // namespace kvet::inject
