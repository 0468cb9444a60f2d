// The target's side of the memory-file tier (struct kvet_memory_header of abi/records.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/records.h"

namespace kvet::inject {

class MemoryRingWriter {
 public:
  // Maps the recorder's file, by descriptor or, where that is not such a file, by path. False: neither is one.
  bool open(int descriptor, const char* path);

  // Claims a table of this process's own: its memory and its offset in the file; nullptr: all are taken.
  void* claim_table(uint64_t* offset) const;

  // Copies a batch into the next slot; false: the ring is full or its reader gave the slot away, the batch is lost.
  bool write(const kvet_batch_header& header, const kvet_record* records) const;

  bool is_open() const { return header_ != nullptr; }

 private:
  bool map(int descriptor);
  kvet_memory_header* header_ = nullptr;
  kvet_memory_slot* slots_ = nullptr;
  uint32_t slot_count_ = 0, table_count_ = 0;
  uint64_t tables_offset_ = 0;
};

}  // namespace kvet::inject
