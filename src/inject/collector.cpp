#include "inject/collector.h"

#include <time.h>
#include <unistd.h>

#include "inject/clock.h"

namespace kvet::inject {
namespace {

// Kernel times are interpolated between readings of two clocks and may lie a little outside what is possible. A fault of
// the kind that quarantine is for (a clock registered twice, records never filled in) is hours off.
constexpr uint64_t slack_ns = 1'000'000'000;

}  // namespace

void Collector::buffer_requested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = buffers.request(size);
  *max_records = 0;
  if (buffers.is_last_resort(*buffer)) {
    losses.count(KVET_LOSS_BUFFER_ALLOCATION, 1, monotonic_ns());
  }
}

void Collector::buffer_completed(uint8_t* buffer, size_t valid_bytes) {
  completed_buffers_.fetch_add(1, std::memory_order_relaxed);
  if (buffer == nullptr || buffers.is_last_resort(buffer)) {
    return;
  }
  buffers.completed(buffer, valid_bytes);
  if (getpid() == owner && !closed_.load(std::memory_order_seq_cst)) {
    collect();
    return;
  }
  // After the goodbye, with CUPTI being torn down, nobody reads any more. And in a forked child calls that fail may still be
  // recorded: nobody wants them, and the table is not mapped.
  for (BufferPool::Buffer* queued = buffers.take_completed(); queued != nullptr;) {
    BufferPool::Buffer* next = queued->queued;
    buffers.recycle(queued);
    queued = next;
  }
}

void Collector::collect() {
  do {
    // Sequentially consistent on both sides: either this thread sees that nobody is at it any more, or the one who was
    // sees the buffer that this thread queued.
    bool free = false;
    if (!busy_.compare_exchange_strong(free, true, std::memory_order_seq_cst)) {
      return;
    }
    for (BufferPool::Buffer* buffer = buffers.take_completed(); buffer != nullptr;) {
      BufferPool::Buffer* next = buffer->queued;
      unpack(buffer);
      buffers.recycle(buffer);
      buffer = next;
    }
    if (!discard) {
      note_table_losses(monotonic_ns());
      emitter.append_losses();
      emitter.flush();
    }
    busy_.store(false, std::memory_order_seq_cst);
  } while (buffers.has_completed());
}

void Collector::unpack(BufferPool::Buffer* buffer) {
  const uint64_t now = monotonic_ns();
  if (!discard) {
    packer_.set_time_range(started_ns > slack_ns ? started_ns - slack_ns : 0, now + slack_ns);
    kvet_cupti_activity* record = nullptr;
    while (cupti->get_next_record(buffer->content(), buffer->valid_bytes, &record) == KVET_CUPTI_SUCCESS) {
      packer_.pack(*record);
    }
  }
  size_t dropped = 0;
  if (cupti->get_num_dropped_records(nullptr, 0, &dropped) == KVET_CUPTI_SUCCESS && dropped > 0) {
    losses.count(KVET_LOSS_CUPTI_DROPPED, dropped, now);
  }
}

void Collector::note_table_losses(uint64_t now_ns) {
  const uint64_t lost = table.lost();
  if (lost != table_lost_) {
    losses.count(KVET_LOSS_TABLE_FULL, lost - table_lost_, now_ns);
    table_lost_ = lost;
  }
}

bool Collector::finish() {
  closed_.store(true, std::memory_order_seq_cst);
  constexpr int patience_ms = 500;
  for (int waited = 0; waited <= patience_ms; ++waited) {
    bool free = false;
    if (busy_.compare_exchange_strong(free, true, std::memory_order_acquire)) {
      if (!discard) {
        note_table_losses(monotonic_ns());
        emitter.append_losses();
        emitter.flush(true);
      }
      __atomic_store_n(&table.header()->finished, 1, __ATOMIC_RELEASE);
      busy_.store(false, std::memory_order_release);
      return true;
    }
    const timespec millisecond{0, 1'000'000};
    nanosleep(&millisecond, nullptr);
  }
  return false;
}

}  // namespace kvet::inject
