// The thread that hands buffers over. What it does to the order is what clients must bear with the real library: records of
// calls and of executions mixed, some kept back to a later buffer, neighbours swapped, buffers handed over half full.
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <thread>

#include "cupti/cupti.h"
#include "cupti/mutant.h"

namespace simcuda::cupti {
namespace {

constexpr size_t kept_back_of = 11;  // one record in so many comes a round late
constexpr size_t early_cut_of = 3;  // one buffer in so many is handed over at a third of its size
constexpr std::chrono::milliseconds look_every{5};

struct Delivery {
  kvet_cupti_buffer_requested_function requested = nullptr;
  kvet_cupti_buffer_completed_function completed = nullptr;
  std::mutex queue_mutex;
  std::vector<Record> queue;
  std::vector<Record> kept_back;  // the thread's own
  uint64_t rounds = 0, buffers = 0;
  // $KVET_SIMCUDA_CUPTI=interrupted: a signal arrives while a launching thread has a lock that a flush needs.
  std::mutex call_mutex;
  std::atomic<uint64_t> calls{0};
  std::mutex mutex;
  std::condition_variable wake, flushed;
  uint64_t flushes_asked = 0, flushes_done = 0;
  std::atomic<uint32_t> period_ms{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<bool> running{false};
};
Delivery& delivery() {
  static auto* instance = new Delivery;
  return *instance;
}

// One client buffer: filled with as many records as it takes, or with fewer.
size_t fill_buffer(Delivery& self, const std::vector<Record>& records, size_t from) {
  uint8_t* buffer = nullptr;
  size_t size = 0, most = 0;
  self.requested(&buffer, &size, &most);
  if (buffer == nullptr || size == 0) {
    self.dropped += records.size() - from;
    return records.size();
  }
  size_t room = ++self.buffers % early_cut_of == 0 ? size / 3 : size;
  size_t used = 0, at = from, count = 0;
  while (at < records.size() && (most == 0 || count < most) &&
         used + records[at].size <= std::max<size_t>(room, records[at].size)) {
    if (used + records[at].size > size) {
      break;
    }
    std::memcpy(buffer + used, records[at].bytes, records[at].size);
    used += records[at].size;
    ++at;
    ++count;
  }
  if (at == from) {  // the buffer is too small for even one record
    ++self.dropped;
    ++at;
  }
  self.completed(nullptr, 0, buffer, size, used);
  return at;
}

void deliver(Delivery& self, bool everything) {
  if (const DriverFunctions* driver = driver_functions()) {
    driver->collect();
  }
  std::vector<Record> records;
  {
    std::lock_guard guard(self.queue_mutex);
    records.swap(self.queue);
  }
  ++self.rounds;
  std::vector<Record> now;
  std::vector<Record> later;
  for (size_t i = 0; i < records.size(); ++i) {
    bool keep = !everything && (i + self.rounds) % kept_back_of == 0;
    (keep ? later : now).push_back(records[i]);
  }
  for (size_t i = 3; i + 1 < now.size(); i += 7) {
    std::swap(now[i], now[i + 1]);
  }
  now.insert(now.end(), self.kept_back.begin(), self.kept_back.end());
  self.kept_back = std::move(later);
  for (size_t at = 0; at < now.size();) {
    at = fill_buffer(self, now, at);
  }
}

[[noreturn]] void run() {
  Delivery& self = delivery();
  auto last = std::chrono::steady_clock::now();
  for (;;) {
    uint64_t asked;
    {
      std::unique_lock lock(self.mutex);
      self.wake.wait_for(lock, look_every, [&] { return self.flushes_asked > self.flushes_done; });
      asked = self.flushes_asked;
    }
    bool flushing = asked > self.flushes_done;
    uint32_t period_ms = self.period_ms;
    auto due = last + std::chrono::milliseconds(period_ms == 0 ? 200 : period_ms);
    size_t queued;
    {
      std::lock_guard guard(self.queue_mutex);
      queued = self.queue.size();
    }
    constexpr size_t worth_a_buffer = 512;
    if (flushing || queued >= worth_a_buffer || std::chrono::steady_clock::now() >= due) {
      deliver(self, flushing);
      last = std::chrono::steady_clock::now();
    } else if (const DriverFunctions* driver = driver_functions()) {
      driver->collect();
    }
    if (flushing) {
      std::lock_guard guard(self.mutex);
      self.flushes_done = asked;
      self.flushed.notify_all();
    }
  }
}

}  // namespace

void push(const Record& record) {
  Delivery& self = delivery();
  {
    std::lock_guard guard(self.queue_mutex);
    self.queue.push_back(record);
  }
  static const bool interrupted = behaves("interrupted");
  if (interrupted) {
    constexpr uint64_t at_call = 50;
    kvet_cupti_activity head;
    std::memcpy(&head, record.bytes, sizeof head);
    if (head.kind == KVET_CUPTI_ACTIVITY_DRIVER && ++self.calls == at_call) {
      std::lock_guard guard(self.call_mutex);
      raise(SIGUSR1);
    }
  }
}

void start_delivery(kvet_cupti_buffer_requested_function requested, kvet_cupti_buffer_completed_function completed) {
  Delivery& self = delivery();
  self.requested = requested;
  self.completed = completed;
  if (self.running.exchange(true)) {
    return;
  }
  pthread_atfork(nullptr, nullptr, [] { delivery().running = false; });  // the thread is not there in a forked child
  std::thread thread(run);
  pthread_setname_np(thread.native_handle(), "simcuda-cupti");
  thread.detach();
}

void flush() {
  Delivery& self = delivery();
  if (!self.running) {
    return;
  }
  std::lock_guard no_call(self.call_mutex);
  std::unique_lock lock(self.mutex);
  uint64_t mine = ++self.flushes_asked;
  self.wake.notify_one();
  self.flushed.wait(lock, [&] { return self.flushes_done >= mine; });
}

void set_flush_period(uint32_t milliseconds) { delivery().period_ms = milliseconds; }

uint64_t take_dropped() { return delivery().dropped.exchange(0) + mutant_counted_drops(); }

}  // namespace simcuda::cupti
