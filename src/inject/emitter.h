// Hands records to the recorder in batches: through the USDT probe kvet:batch, or into the memory file.
// Used by one thread at a time.
#pragma once

#include <cstdint>

#include "abi/records.h"
#include "inject/losses.h"
#include "inject/memory_ring.h"
#include "inject/table.h"

namespace kvet::inject {

class Emitter {
 public:
  constexpr Emitter(TableWriter& table, Losses& losses) : table_(table), losses_(losses) {}

  void use_memory_ring(MemoryRingWriter* ring) { ring_ = ring; }

  // True while somebody reads: the probe's semaphore is set, or there is a memory file.
  bool has_reader() const;

  // Does the reader read? Only the flush thread asks; it may be wrong for a while in either direction.
  bool is_being_read() { return ring_ == nullptr ? has_reader() : ring_->is_being_read(); }

  // Room for one record, zeroed, in the batch being filled. Valid until the next call of any function here.
  kvet_record& next();

  // Appends what was lost since the last time, if somebody reads.
  void append_losses();

  // Hands over what there is. `last`: the process is finishing; then even an empty batch goes out, to say so.
  void flush(bool last = false);

 private:
  void hand_over(bool last);
  void count_as_lost(kvet_loss_kind kind);

  TableWriter& table_;
  Losses& losses_;
  MemoryRingWriter* ring_ = nullptr;
  uint64_t sequence_ = 0;
  uint64_t records_before_ = 0;
  // Header and records lie in one piece, as the BPF program copies them with one call.
  struct alignas(64) Batch {
    kvet_batch_header header;
    kvet_record records[KVET_BATCH_LARGE];
  } batch_{};
};

}  // namespace kvet::inject
