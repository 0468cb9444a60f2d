// The sampler's end of the pipe. Never blocks: what the recorder does not take at once is queued, up to a limit, and
// samples beyond it are dropped and counted. One writer, many threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "abi/counters.h"

namespace kvet::probes {

class MessageWriter {
 public:
  // 32 MiB hold 220,000 samples: 22 s of one GPU at 100 µs, in case the recorder is busy.
  explicit MessageWriter(int descriptor, size_t queue_limit = 32u << 20);

  // Fills in the header.
  template <class Message>
  void send(kvet_sampler_message_kind kind, Message message) {
    message.header = {static_cast<kvet_u32>(kind), static_cast<kvet_u32>(sizeof(Message))};
    put(&message, sizeof(message));
  }
  // Dropped and counted where the queue is full.
  void send_sample(kvet_sampler_sample sample);

  void report_drops();  // as losses, before the last message
  void flush();
  bool flush_until(std::chrono::steady_clock::time_point deadline);  // true: everything is written
  [[nodiscard]] bool broken() const;                                 // the recorder is gone
  [[nodiscard]] uint64_t samples_sent() const;

 private:
  struct Dropped {
    uint64_t count = 0, first_ns = 0, last_ns = 0;
  };
  void put(const void* message, size_t size);
  void write_locked();
  void report_drop_locked(uint32_t device, Dropped& dropped);
  void append_locked(const void* message, size_t size);

  int descriptor_;
  size_t queue_limit_;
  mutable std::mutex mutex_;
  std::vector<std::byte> queue_;
  size_t written_ = 0;  // of the queue
  std::map<uint32_t, Dropped> dropped_;
  uint64_t samples_sent_ = 0;
  bool broken_ = false;
};

}  // namespace kvet::probes
