#include "probes/activity/memory_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace kvet::probes {
namespace {

// A writer fills its slot within microseconds of taking the ticket. One that has not after this long was killed or
// stopped in between; its batch is given up, so that the batches behind it get through.
constexpr int64_t patience_ns = 1'000'000'000;

int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

constexpr uint64_t slots_offset = 4096;

}  // namespace

Result<MemoryRing> MemoryRing::create(uint32_t slots, uint32_t tables) {
  MemoryRing ring;
  ring.slots_ = slots;
  ring.tables_ = tables;
  const uint64_t slots_end = slots_offset + uint64_t{slots} * sizeof(kvet_memory_slot);
  constexpr uint64_t largest_page =
      65'536;  // a target maps its table alone, from a whole page on; aarch64 has such pages
  const uint64_t tables_offset = (slots_end + largest_page - 1) / largest_page * largest_page;
  ring.size_ = tables_offset + uint64_t{tables} * KVET_TABLE_BYTES;
  ring.file_ = FileDescriptor{memfd_create("kvet-memory", MFD_ALLOW_SEALING)};  // not CLOEXEC: the target inherits it
  if (!ring.file_.valid() || ftruncate(ring.file_.get(), static_cast<off_t>(ring.size_)) != 0 ||
      fcntl(ring.file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return fail(ErrorKind::unavailable, std::string("cannot make the memory file: ") + strerror(errno), "memfd");
  }
  void* map = mmap(nullptr, ring.size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, ring.file_.get(), 0);
  if (map == MAP_FAILED) {
    return fail(ErrorKind::unavailable, std::string("cannot map the memory file: ") + strerror(errno), "memfd");
  }
  ring.map_ = static_cast<unsigned char*>(map);
  auto* slot = reinterpret_cast<kvet_memory_slot*>(ring.map_ + slots_offset);
  for (uint64_t ticket = 0; ticket < slots; ++ticket) {
    slot[ticket].state = 2 * ticket;
  }
  auto* header = reinterpret_cast<kvet_memory_header*>(ring.map_);
  header->abi_version = KVET_ABI_VERSION;
  header->slots = slots;
  header->tables = tables;
  header->slots_offset = slots_offset;
  header->tables_offset = tables_offset;
  __atomic_store_n(&header->magic, KVET_MEMORY_MAGIC, __ATOMIC_RELEASE);
  return ring;
}

MemoryRing::MemoryRing(MemoryRing&& other) noexcept
    : file_(std::move(other.file_)),
      map_(std::exchange(other.map_, nullptr)),
      size_(other.size_),
      slots_(other.slots_),
      tables_(other.tables_),
      next_(other.next_),
      waiting_since_ns_(other.waiting_since_ns_),
      skipped_(other.skipped_),
      copy_(std::move(other.copy_)) {}

MemoryRing::~MemoryRing() {
  if (map_ != nullptr) {
    munmap(map_, size_);
  }
}

std::string MemoryRing::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_.get());
}

size_t MemoryRing::poll(const Handler& handler) { return take(handler, false); }
size_t MemoryRing::drain(const Handler& handler) { return take(handler, true); }

size_t MemoryRing::take(const Handler& handler, bool at_end) {
  size_t taken = 0;
  auto* const ring = reinterpret_cast<kvet_memory_header*>(map_);
  // At most one lap, so that a target that writes without pause cannot keep the recorder here.
  for (uint32_t step = 0; step < slots_; ++step) {
    auto* const slot = reinterpret_cast<kvet_memory_slot*>(map_ + slots_offset) + next_ % slots_;
    const uint64_t free_for_next_lap = 2 * (next_ + slots_);
    if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != 2 * next_ + 1) {
      if (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) <= next_) {
        waiting_since_ns_ = 0;
        return taken;  // nobody has taken this ticket: the ring is empty
      }
      const int64_t now = monotonic_ns();
      waiting_since_ns_ = waiting_since_ns_ == 0 ? now : waiting_since_ns_;
      uint64_t unfilled = 2 * next_;
      if ((!at_end && now - waiting_since_ns_ < patience_ns) ||
          !__atomic_compare_exchange_n(&slot->state, &unfilled, free_for_next_lap, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE)) {
        if (unfilled == 2 * next_ || unfilled == 2 * next_ + 1) {
          return taken;  // still waiting, or filled this very moment
        }
        // Not a state that the protocol knows: the target scribbled over it. Give the slot up.
        __atomic_store_n(&slot->state, free_for_next_lap, __ATOMIC_RELEASE);
      }
      ++skipped_;
    } else {
      // Copied first, looked at afterwards: the target can write here at any time.
      kvet_batch_header header;
      memcpy(&header, &slot->header, sizeof(header));
      header.count = std::min<uint32_t>(header.count, KVET_BATCH_LARGE);
      copy_.resize(header.count);
      memcpy(copy_.data(), slot->records, header.count * sizeof(kvet_record));
      __atomic_store_n(&slot->state, free_for_next_lap, __ATOMIC_RELEASE);
      ++taken;
      handler(header, copy_);
    }
    waiting_since_ns_ = 0;
    ++next_;
  }
  return taken;
}

Result<Table> MemoryRing::table(const kvet_batch_header& header) const {
  const uint64_t tables_offset = size_ - uint64_t{tables_} * KVET_TABLE_BYTES;
  if (header.table_address < tables_offset || header.table_address >= size_ ||
      (header.table_address - tables_offset) % KVET_TABLE_BYTES != 0) {
    return fail(ErrorKind::bad_input, "a batch names a table that is not in the memory file");
  }
  return Table::in_memory_file(file_.get(), header.table_address);
}

uint64_t MemoryRing::dropped_records() const {
  return __atomic_load_n(&reinterpret_cast<kvet_memory_header*>(map_)->dropped_records, __ATOMIC_RELAXED);
}

uint32_t MemoryRing::processes_without_table() const {
  const uint32_t used = __atomic_load_n(&reinterpret_cast<kvet_memory_header*>(map_)->tables_used, __ATOMIC_RELAXED);
  return used > tables_ ? used - tables_ : 0;
}

}  // namespace kvet::probes
