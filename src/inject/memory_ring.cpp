#include "inject/memory_ring.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/memory.h"

namespace kvet::inject {

bool MemoryRingWriter::open(int descriptor, const char* path) {
  if (descriptor >= 0 && map(descriptor)) {
    return true;
  }
  if (path == nullptr) {
    return false;
  }
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  const bool mapped = map(file);
  close(file);
  return mapped;
}

// The descriptor number may mean anything in a child of the target, so nothing is written before the content has shown
// that it is the recorder's file, of our version, and as large as it says.
bool MemoryRingWriter::map(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<uint64_t>(status.st_size) < sizeof(kvet_memory_header)) {
    return false;
  }
  kvet_memory_header header{};
  if (pread(descriptor, &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header)) ||
      header.magic != KVET_MEMORY_MAGIC || header.abi_version != KVET_ABI_VERSION || header.slots == 0) {
    return false;
  }
  const uint64_t size = static_cast<uint64_t>(status.st_size);
  const uint64_t slots_end = header.slots_offset + uint64_t{header.slots} * sizeof(kvet_memory_slot);
  const uint64_t tables_end = header.tables_offset + uint64_t{header.tables} * KVET_TABLE_BYTES;
  if (header.slots_offset > size || slots_end > size || header.tables_offset > size || tables_end > size ||
      header.slots_offset % 64 != 0 || header.tables_offset % 4096 != 0) {
    return false;
  }
  void* memory = reserve_closed(slots_end, descriptor);
  if (memory == nullptr) {
    return false;
  }
  if (!open_pages(memory, slots_end)) {
    munmap(memory, slots_end);
    return false;
  }
  madvise(memory, slots_end, MADV_DONTFORK);  // a forked child has no business in its parent's tables
  header_ = static_cast<kvet_memory_header*>(memory);
  slots_ = reinterpret_cast<kvet_memory_slot*>(static_cast<unsigned char*>(memory) + header.slots_offset);
  slot_count_ = header.slots;
  claim_table(descriptor, header);
  return true;
}

void MemoryRingWriter::claim_table(int descriptor, const kvet_memory_header& header) {
  const uint32_t number = __atomic_fetch_add(&header_->tables_used, 1, __ATOMIC_RELAXED);
  if (number >= header.tables) {
    return;
  }
  table_offset_ = header.tables_offset + uint64_t{number} * KVET_TABLE_BYTES;
  table_ = reserve_closed(KVET_TABLE_BYTES, descriptor, static_cast<off_t>(table_offset_));
  if (table_ != nullptr) {
    madvise(table_, KVET_TABLE_BYTES, MADV_DONTFORK);
  }
}

bool MemoryRingWriter::write(const kvet_batch_header& header, const kvet_record* records) {
  uint64_t ticket = __atomic_load_n(&header_->head, __ATOMIC_RELAXED);
  kvet_memory_slot* slot = nullptr;
  for (;;) {
    slot = &slots_[ticket % slot_count_];
    const uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    if (state == 2 * ticket) {
      if (__atomic_compare_exchange_n(&header_->head, &ticket, ticket + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        break;
      }
      continue;  // another process was first; `ticket` is the new head
    }
    const uint64_t head = __atomic_load_n(&header_->head, __ATOMIC_RELAXED);
    if (head == ticket) {  // the slot still holds a batch of the lap before: full
      full_.store(true, std::memory_order_relaxed);
      __atomic_fetch_add(&header_->dropped_records, header.count, __ATOMIC_RELAXED);
      return false;
    }
    ticket = head;
  }
  __atomic_store_n(&slot->thread_id, static_cast<uint32_t>(syscall(SYS_gettid)), __ATOMIC_RELAXED);
  slot->header = header;
  memcpy(slot->records, records, header.count * sizeof(kvet_record));
  full_.store(false, std::memory_order_relaxed);
  newest_.store(ticket + 1, std::memory_order_release);
  // The reader gives a slot away whose writer seems dead; then this one came too late.
  uint64_t mine = 2 * ticket;
  return __atomic_compare_exchange_n(&slot->state, &mine, 2 * ticket + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

bool MemoryRingWriter::is_being_read() {
  if (watched_ != 0) {
    const uint64_t ticket = watched_ - 1;
    const uint64_t state = __atomic_load_n(&slots_[ticket % slot_count_].state, __ATOMIC_ACQUIRE);
    if (state == 2 * ticket || state == 2 * ticket + 1) {
      return false;  // still there
    }
  }
  watched_ = newest_.load(std::memory_order_acquire);
  return watched_ != 0 || !full_.load(std::memory_order_relaxed);
}

}  // namespace kvet::inject
