// The buffers that CUPTI fills. CUPTI asks for one on a thread of the target, and gives it back on any thread: both ends
// are lock-free. CUPTI crashes when it is told that there is none (before CUDA 12.9), so there always is one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kvet::inject {

class BufferPool {
 public:
  // Reserves address space for `limit_bytes` in buffers of `buffer_bytes`, rounded up to whole pages; less where the system
  // gives less. False: none.
  bool create(size_t buffer_bytes, size_t limit_bytes);

  // A buffer, 64-byte aligned, of *size bytes. Never nullptr: when all are out, the last resort below.
  uint8_t* request(size_t* size);

  // The last resort: one buffer that everybody shares. What is written there is garbage and must not be read.
  bool is_last_resort(const uint8_t* buffer) const { return buffer == last_resort_; }

  // Queues a filled buffer for the collector. Any thread.
  void completed(uint8_t* buffer, size_t valid_bytes);

  // All queued buffers, oldest first, to be walked with next(). One thread at a time.
  struct Buffer {
    alignas(64) Buffer* queued;
    size_t valid_bytes;
    uint32_t number;
    std::atomic<uint32_t> free_next;
    uint8_t* content() { return reinterpret_cast<uint8_t*>(this + 1); }
  };
  Buffer* take_completed();
  bool has_completed() const { return completed_.load(std::memory_order_seq_cst) != nullptr; }

  // Gives a buffer back for reuse. Any thread.
  void recycle(Buffer* buffer);

 private:
  Buffer* at(uint32_t number) { return reinterpret_cast<Buffer*>(memory_ + size_t{number} * stride_); }

  uint8_t* memory_ = nullptr;
  size_t stride_ = 0;
  uint32_t limit_ = 0;
  std::atomic<uint32_t> fresh_{0};  // buffers that were never out begin here
  std::atomic<uint64_t> free_{0};  // stack of free ones: a tag against reuse races in the upper half, number + 1
  std::atomic<Buffer*> completed_{nullptr};  // stack of filled ones
  static constexpr size_t last_resort_bytes = 64 << 10;
  alignas(64) uint8_t last_resort_[last_resort_bytes] = {};
};

}  // namespace kvet::inject
