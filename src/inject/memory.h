// Memory of the library's own, straight from the kernel: the target's allocator may be in any state when CUPTI calls.
#pragma once

#include <sys/mman.h>

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace kvet::inject {

// Zeroed pages, not charged until touched; nullptr where there are none.
inline void* reserve(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}
inline size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// Address space alone, which open_pages() makes usable piece by piece. A target that locks its memory (mlockall(2), before or
// after) would otherwise make all of it resident, and count all of it against what it may lock: no page of a closed piece is
// ever made, and munlock takes back the promise for pages to come. `file`: that part of the file, shared; -1: memory.
// nullptr: there is none.
inline void* reserve_closed(size_t bytes, int file = -1, off_t offset = 0) {
  const int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = mmap(nullptr, bytes, PROT_NONE, kind | MAP_NORESERVE, file, offset);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  munlock(memory, bytes);
  return memory;
}
// Every page that has a byte of these. False: the kernel has no room to note it; the pages stay closed.
inline bool open_pages(void* memory, size_t bytes) {
  const uintptr_t page = page_bytes();
  const uintptr_t first = reinterpret_cast<uintptr_t>(memory) & ~(page - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes + page - 1) & ~(page - 1);
  return mprotect(reinterpret_cast<void*>(first), end - first, PROT_READ | PROT_WRITE) == 0;
}
inline void release(void* memory, size_t bytes) {
  if (memory != nullptr) {
    munmap(memory, bytes);
  }
}

}  // namespace kvet::inject
