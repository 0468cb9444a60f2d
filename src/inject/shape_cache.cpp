#include "inject/shape_cache.h"

#include <string.h>

#include "inject/memory.h"

namespace kvet::inject {
namespace {

bool is_still(const char* name, const kvet_entry_string& stored) {
  const char* text = reinterpret_cast<const char*>(&stored + 1);
  return strncmp(name, text, stored.length) == 0 && name[stored.length] == '\0';
}

}  // namespace

uint32_t ShapeCache::index_of(kvet_entry_shape& shape, const char* name, TableWriter& table, const CodeHashes& hashes) {
  if (slots_ == nullptr) {
    slots_ = static_cast<Slot*>(reserve(slots * sizeof(Slot)));
  }
  const uint32_t generation = hashes.generation();
  Slot none{};
  const uint64_t key = hash_bytes(&shape, sizeof(shape), reinterpret_cast<uint64_t>(name));
  Slot& slot = slots_ == nullptr ? none : slots_[key % slots];
  if (slot.asked_name == name && slot.generation == generation && memcmp(&slot.shape, &shape, sizeof(shape)) == 0 &&
      is_still(name, *slot.stored_name)) {
    return slot.index;
  }
  const kvet_entry_shape asked = shape;
  shape.code_hash = hashes.find(name, shape.registers_per_thread);
  const kvet_entry_string* stored = nullptr;
  const uint32_t index = table.shape(shape, name, &stored);
  if (index != 0 && stored->length < 65'536) {  // a name that was cut does not end where the stored one does
    slot = {asked, name, stored, index, generation};
  }
  return index;
}

}  // namespace kvet::inject
