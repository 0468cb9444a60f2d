// Writes the table of names and launch shapes (struct kvet_table of abi/records.h): append-only, in memory shared with
// whoever opens it, so that it survives the process. Used by one thread at a time (the collector sees to that), read by
// the recorder at any time: an entry is complete before `used` says so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/records.h"

namespace kvet::inject {

// Finds entries by content. Open addressing, grown by doubling; `position` is an entry's offset in the table.
class EntryIndex {
 public:
  struct Cell {
    uint64_t hash;
    uint32_t position;  // in units of 8 bytes, plus 1; 0: an empty cell
    uint32_t index;
  };
  // The cell for `hash` for which same(cell) holds, else an empty cell to fill; nullptr: no memory.
  template <class Same>
  Cell* find(uint64_t hash, Same same) {
    if (2 * (count_ + 1) > capacity_ && !grow()) {
      return nullptr;
    }
    for (size_t at = hash & (capacity_ - 1);; at = (at + 1) & (capacity_ - 1)) {
      Cell& cell = cells_[at];
      if (cell.position == 0 || (cell.hash == hash && same(cell))) {
        return &cell;
      }
    }
  }
  void filled() { ++count_; }
  void clear();

 private:
  bool grow();
  Cell* cells_ = nullptr;
  size_t capacity_ = 0;
  size_t count_ = 0;
};

class TableWriter {
 public:
  // A table of its own: a memfd named "kvet-table", as large as the limit on files allows. False: no memfd or no memory,
  // *error is errno.
  bool create(int* error);
  // A table inside the memory file: `memory` is KVET_TABLE_BYTES of zeroes, closed (memory.h) or not, `offset` where they
  // are in the file. False: no memory.
  bool adopt(void* memory, uint64_t offset);

  // The index of a STRING entry with this text (cut at 65,536 bytes); 0: the table is full, counted in lost().
  uint32_t string(const char* text, size_t length);
  // The index of a SHAPE entry equal to `shape` in all but entry and name, with the given mangled name; 0 as above. Entries
  // never move: `stored_name` is the name's own for good.
  uint32_t shape(const kvet_entry_shape& shape, const char* name, const kvet_entry_string** stored_name);
  // Appends an entry of another kind: `size` bytes that begin with a kvet_entry, which is filled in here. The index, or 0.
  uint32_t append(const void* entry, uint16_t kind, size_t size);

  kvet_table* header() const { return table_; }
  uint64_t address() const { return address_; }  // for kvet_batch_header::table_address
  uint64_t used() const { return used_; }
  uint64_t lost() const { return lost_; }  // entries that found no room

 private:
  const kvet_entry_string* string_entry(const char* text, size_t length);
  // Room for an entry of `size` bytes, padded, its header filled in; nullptr: full. publish() makes it visible.
  kvet_entry* begin(uint16_t kind, size_t size);
  void publish();
  bool start(void* memory, size_t bytes, uint64_t address);
  bool open_until(uint64_t bytes);

  kvet_table* table_ = nullptr;
  unsigned char* entries_ = nullptr;
  uint64_t address_ = 0;
  uint64_t capacity_ = 0;  // bytes of entries that there is room for
  uint64_t opened_ = 0;  // bytes from the header on whose pages are usable
  uint64_t used_ = 0;
  uint64_t pending_ = 0;  // size of the entry between begin and publish
  uint32_t last_index_ = 0;
  uint64_t lost_ = 0;
  EntryIndex strings_;
  EntryIndex shapes_;
};

}  // namespace kvet::inject
