// The launch shapes seen of late. A workload launches the same few hundred again and again; without this each record would
// have its name hashed twice, 0.2 us of a thread in the target.
#pragma once

#include <cstdint>

#include "abi/records.h"
#include "inject/code_hash.h"
#include "inject/table.h"

namespace kvet::inject {

class ShapeCache {
 public:
  // The index of the SHAPE entry for `shape` (without its code hash, which is looked up here) and `name`; 0: no room.
  uint32_t index_of(kvet_entry_shape& shape, const char* name, TableWriter& table, const CodeHashes& hashes);

 private:
  struct Slot {
    kvet_entry_shape shape;  // as asked for
    const char* asked_name;
    const kvet_entry_string* stored_name;  // what the name was: its memory may hold another one by now
    uint32_t index;
    uint32_t generation;  // of the code hashes: a newer module may have made a name ambiguous
  };
  static constexpr uint64_t slots = 1024;
  Slot* slots_ = nullptr;
};

}  // namespace kvet::inject
