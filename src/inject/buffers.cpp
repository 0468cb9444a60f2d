#include "inject/buffers.h"

#include <sys/mman.h>

#include "inject/memory.h"

namespace kvet::inject {

bool BufferPool::create(size_t buffer_bytes, size_t limit_bytes) {
  static_assert(sizeof(Buffer) == 64);
  stride_ = (buffer_bytes + page_bytes() - 1) & ~(page_bytes() - 1);  // each is opened by itself
  for (size_t bytes = limit_bytes; bytes >= 4 * stride_; bytes /= 2) {
    memory_ = static_cast<uint8_t*>(reserve_closed(bytes));
    if (memory_ != nullptr) {
      // One touch of a huge page would zero 2 MiB in the launching thread.
      madvise(memory_, bytes, MADV_NOHUGEPAGE);
      limit_ = static_cast<uint32_t>(bytes / stride_);
      return true;
    }
  }
  return false;
}

uint8_t* BufferPool::request(size_t* size) {
  *size = stride_ - sizeof(Buffer);
  uint64_t top = free_.load(std::memory_order_acquire);
  while ((top & 0xffffffffu) != 0) {
    Buffer* buffer = at(static_cast<uint32_t>(top & 0xffffffffu) - 1);
    const uint64_t next = ((top >> 32) + 1) << 32 | buffer->free_next.load(std::memory_order_relaxed);
    if (free_.compare_exchange_weak(top, next, std::memory_order_acquire)) {
      return buffer->content();
    }
  }
  if (fresh_.load(std::memory_order_relaxed) < limit_) {
    const uint32_t number = fresh_.fetch_add(1, std::memory_order_relaxed);
    Buffer* buffer = at(number);
    if (number < limit_ && open_pages(buffer, stride_)) {
      buffer->number = number;
      return buffer->content();
    }
  }
  *size = last_resort_bytes;
  return last_resort_;
}

void BufferPool::completed(uint8_t* content, size_t valid_bytes) {
  Buffer* buffer = reinterpret_cast<Buffer*>(content) - 1;
  buffer->valid_bytes = valid_bytes;
  buffer->queued = completed_.load(std::memory_order_relaxed);
  while (!completed_.compare_exchange_weak(buffer->queued, buffer, std::memory_order_seq_cst)) {
  }
}

BufferPool::Buffer* BufferPool::take_completed() {
  Buffer* newest = completed_.exchange(nullptr, std::memory_order_acquire);
  Buffer* oldest = nullptr;
  while (newest != nullptr) {
    Buffer* older = newest->queued;
    newest->queued = oldest;
    oldest = newest;
    newest = older;
  }
  return oldest;
}

void BufferPool::recycle(Buffer* buffer) {
  uint64_t top = free_.load(std::memory_order_relaxed);
  uint64_t next = 0;
  do {
    buffer->free_next.store(static_cast<uint32_t>(top & 0xffffffffu), std::memory_order_relaxed);
    next = ((top >> 32) + 1) << 32 | (uint64_t{buffer->number} + 1);
  } while (!free_.compare_exchange_weak(top, next, std::memory_order_release));
}

}  // namespace kvet::inject
