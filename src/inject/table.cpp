#include "inject/table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "inject/code_hash.h"
#include "inject/memory.h"

namespace kvet::inject {
namespace {

constexpr size_t string_limit = 65'536;

// No more than the target may write into a file: asking for more would end it by SIGXFSZ, setrlimit(2).
size_t allowed_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= KVET_TABLE_BYTES) {
    return KVET_TABLE_BYTES;
  }
  return limit.rlim_cur & ~size_t{7};
}

}  // namespace

bool EntryIndex::grow() {
  const size_t wanted = capacity_ == 0 ? 4096 : 2 * capacity_;
  Cell* cells = static_cast<Cell*>(reserve(wanted * sizeof(Cell)));
  if (cells == nullptr) {
    return false;
  }
  for (size_t i = 0; i < capacity_; ++i) {
    if (cells_[i].position == 0) {
      continue;
    }
    size_t at = cells_[i].hash & (wanted - 1);
    while (cells[at].position != 0) {
      at = (at + 1) & (wanted - 1);
    }
    cells[at] = cells_[i];
  }
  release(cells_, capacity_ * sizeof(Cell));
  cells_ = cells;
  capacity_ = wanted;
  return true;
}

void EntryIndex::clear() {
  release(cells_, capacity_ * sizeof(Cell));
  *this = EntryIndex{};
}

bool TableWriter::create(int* error) {
  const size_t bytes = allowed_bytes();
  if (bytes < sizeof(kvet_table)) {
    *error = EFBIG;
    return false;
  }
  const int file = memfd_create("kvet-table", MFD_CLOEXEC);
  if (file < 0) {
    *error = errno;
    return false;
  }
  void* memory = ftruncate(file, static_cast<off_t>(bytes)) == 0 ? reserve_closed(bytes, file) : nullptr;
  *error = errno;
  close(file);  // the mapping keeps the file, and leaves the target's descriptors as they were
  if (memory == nullptr) {
    return false;
  }
  // A forked child must not write into its parent's table, and must not show it as its own.
  madvise(memory, bytes, MADV_DONTFORK);
  if (!start(memory, bytes, reinterpret_cast<uint64_t>(memory))) {
    *error = errno;
    return false;
  }
  return true;
}

bool TableWriter::adopt(void* memory, uint64_t offset) { return start(memory, KVET_TABLE_BYTES, offset); }

bool TableWriter::open_until(uint64_t bytes) {
  if (bytes <= opened_) {
    return true;
  }
  // 1 MiB holds about 5,000 names of 200 bytes: most programs need one step.
  constexpr uint64_t step = 1u << 20;
  const uint64_t all = sizeof(kvet_table) + capacity_;
  uint64_t wanted = (bytes + step - 1) / step * step;
  wanted = wanted < all ? wanted : all;
  if (!open_pages(reinterpret_cast<unsigned char*>(table_) + opened_, wanted - opened_)) {
    return false;
  }
  opened_ = wanted;
  return true;
}

bool TableWriter::start(void* memory, size_t bytes, uint64_t address) {
  if (!open_pages(memory, sizeof(kvet_table))) {
    return false;
  }
  table_ = static_cast<kvet_table*>(memory);
  entries_ = static_cast<unsigned char*>(memory) + sizeof(kvet_table);
  capacity_ = bytes - sizeof(kvet_table);
  address_ = address;
  opened_ = sizeof(kvet_table);
  used_ = 0;
  last_index_ = 0;
  strings_.clear();
  shapes_.clear();
  table_->abi_version = KVET_ABI_VERSION;
  table_->target_pid = static_cast<uint32_t>(getpid());
  table_->generation = 1;
  table_->status = KVET_INJECT_STARTING;
  __atomic_store_n(&table_->magic, KVET_TABLE_MAGIC, __ATOMIC_RELEASE);  // last: now it is a table
  return true;
}

kvet_entry* TableWriter::begin(uint16_t kind, size_t size) {
  const size_t padded = (size + 7) & ~size_t{7};
  if (table_ == nullptr || padded > capacity_ - used_ || !open_until(sizeof(kvet_table) + used_ + padded)) {
    ++lost_;
    return nullptr;
  }
  kvet_entry* entry = reinterpret_cast<kvet_entry*>(entries_ + used_);
  entry->kind = kind;
  entry->reserved = 0;
  entry->size = static_cast<uint32_t>(padded);
  entry->index = last_index_ + 1;
  entry->reserved2 = 0;
  pending_ = padded;
  return entry;
}

void TableWriter::publish() {
  used_ += pending_;
  ++last_index_;
  __atomic_store_n(&table_->used, used_, __ATOMIC_RELEASE);
}

uint32_t TableWriter::string(const char* text, size_t length) {
  const kvet_entry_string* entry = string_entry(text, length);
  return entry == nullptr ? 0 : entry->entry.index;
}

const kvet_entry_string* TableWriter::string_entry(const char* text, size_t length) {
  if (length > string_limit) {
    length = string_limit;
  }
  const uint64_t key = hash_bytes(text, length, 1);
  EntryIndex::Cell* cell = strings_.find(key, [&](const EntryIndex::Cell& candidate) {
    const auto* known = reinterpret_cast<const kvet_entry_string*>(entries_ + 8 * (uint64_t{candidate.position} - 1));
    return known->length == length && memcmp(known + 1, text, length) == 0;
  });
  if (cell == nullptr) {
    ++lost_;
    return nullptr;
  }
  if (cell->position != 0) {
    return reinterpret_cast<const kvet_entry_string*>(entries_ + 8 * (uint64_t{cell->position} - 1));
  }
  auto* entry = reinterpret_cast<kvet_entry_string*>(begin(KVET_ENTRY_STRING, sizeof(kvet_entry_string) + length));
  if (entry == nullptr) {
    return nullptr;
  }
  entry->length = static_cast<uint32_t>(length);
  entry->reserved = 0;
  memcpy(entry + 1, text, length);
  *cell = {key, static_cast<uint32_t>(used_ / 8 + 1), entry->entry.index};
  strings_.filled();
  publish();
  return entry;
}

uint32_t TableWriter::shape(const kvet_entry_shape& shape, const char* name, const kvet_entry_string** stored_name) {
  // The name's address is not part of the key: CUPTI may reuse it for another name after a module was unloaded.
  const kvet_entry_string* string = string_entry(name, strlen(name));
  *stored_name = string;
  if (string == nullptr) {
    return 0;
  }
  kvet_entry_shape wanted = shape;
  wanted.name = string->entry.index;
  constexpr size_t skipped = sizeof(kvet_entry);
  const unsigned char* content = reinterpret_cast<const unsigned char*>(&wanted) + skipped;
  constexpr size_t size = sizeof(wanted) - skipped;
  const uint64_t key = hash_bytes(content, size, 2);
  EntryIndex::Cell* cell = shapes_.find(key, [&](const EntryIndex::Cell& candidate) {
    return memcmp(entries_ + 8 * (uint64_t{candidate.position} - 1) + skipped, content, size) == 0;
  });
  if (cell == nullptr) {
    ++lost_;
    return 0;
  }
  if (cell->position != 0) {
    return cell->index;
  }
  kvet_entry* entry = begin(KVET_ENTRY_SHAPE, sizeof(wanted));
  if (entry == nullptr) {
    return 0;
  }
  memcpy(reinterpret_cast<unsigned char*>(entry) + skipped, content, size);
  *cell = {key, static_cast<uint32_t>(used_ / 8 + 1), entry->index};
  shapes_.filled();
  publish();
  return cell->index;
}

uint32_t TableWriter::append(const void* source, uint16_t kind, size_t size) {
  kvet_entry* entry = begin(kind, size);
  if (entry == nullptr) {
    return 0;
  }
  memcpy(entry + 1, static_cast<const unsigned char*>(source) + sizeof(kvet_entry), size - sizeof(kvet_entry));
  publish();
  return last_index_;
}

}  // namespace kvet::inject
