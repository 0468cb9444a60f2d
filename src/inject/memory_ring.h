// The target's side of the memory-file tier (struct kvet_memory_header of abi/records.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "abi/records.h"

namespace kvet::inject {

class MemoryRingWriter {
 public:
  // Maps the recorder's file, by descriptor or, where that is not such a file, by path: the ring, and one table of the many.
  // False: neither is one.
  bool open(int descriptor, const char* path);

  // The table that open() claimed for this process: its memory, closed (memory.h), and its offset in the file; nullptr: all
  // were taken.
  void* table(uint64_t* offset) const {
    *offset = table_offset_;
    return table_;
  }

  // Copies a batch into the next slot; false: the ring is full or its reader gave the slot away, the batch is lost.
  bool write(const kvet_batch_header& header, const kvet_record* records);

  // Has the reader taken the batch that was watched since the last call? Then the newest is watched from now on. Where nothing
  // was written nobody needs to read: true. One thread asks.
  bool is_being_read();

  bool is_open() const { return header_ != nullptr; }

 private:
  bool map(int descriptor);
  void claim_table(int descriptor, const kvet_memory_header& header);
  kvet_memory_header* header_ = nullptr;
  kvet_memory_slot* slots_ = nullptr;
  uint32_t slot_count_ = 0;
  std::atomic<uint64_t> newest_{0};  // ticket of the newest batch of this process, plus 1
  std::atomic<bool> full_{false};  // the newest batch found no slot
  uint64_t watched_ = 0;  // ticket plus 1; the asking thread's own
  void* table_ = nullptr;
  uint64_t table_offset_ = 0;
};

}  // namespace kvet::inject
