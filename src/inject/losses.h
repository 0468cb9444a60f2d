// Counts of what was not recorded, from any thread, until the collector sends them as LOSS records.
#pragma once

#include <string.h>

#include <atomic>
#include <cstdint>

#include "abi/records.h"

namespace kvet::inject {

class Losses {
 public:
  void count(kvet_loss_kind kind, uint64_t count, uint64_t first_ns, uint64_t last_ns) {
    Counter& counter = counters_[kind];
    uint64_t none = 0;
    counter.first_ns.compare_exchange_strong(none, first_ns, std::memory_order_relaxed);
    counter.last_ns.store(last_ns, std::memory_order_relaxed);
    counter.count.fetch_add(count, std::memory_order_release);
  }
  void count(kvet_loss_kind kind, uint64_t count, uint64_t now_ns) { this->count(kind, count, now_ns, now_ns); }

  // Moves the count of one kind into `record`; false: nothing was lost.
  bool take(kvet_loss_kind kind, kvet_record& record) {
    Counter& counter = counters_[kind];
    const uint64_t count = counter.count.exchange(0, std::memory_order_acquire);
    if (count == 0) {
      return false;
    }
    memset(&record, 0, sizeof(record));
    record.loss.kind = KVET_RECORD_LOSS;
    record.loss.loss = static_cast<uint16_t>(kind);
    record.loss.count = count;
    record.loss.first_ns = counter.first_ns.exchange(0, std::memory_order_relaxed);
    record.loss.last_ns = counter.last_ns.load(std::memory_order_relaxed);
    return true;
  }

  static constexpr int kinds = KVET_LOSS_BUFFER_ALLOCATION + 1;  // kinds count from 1

 private:
  struct Counter {
    std::atomic<uint64_t> count{0}, first_ns{0}, last_ns{0};
  };
  Counter counters_[kinds];
};

}  // namespace kvet::inject
