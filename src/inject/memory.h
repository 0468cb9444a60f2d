// Memory of the library's own, straight from the kernel: the target's allocator may be in any state when CUPTI calls.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace kvet::inject {

// Zeroed pages, not charged until touched; nullptr where there are none.
inline void* reserve(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}
inline void release(void* memory, size_t bytes) {
  if (memory != nullptr) {
    munmap(memory, bytes);
  }
}

}  // namespace kvet::inject
