// The one thread of this library's own, and the only one that asks CUPTI for what it holds: such a call can wait for a lock
// that the calling thread has already (exit() out of a signal handler inside CUPTI), or for a driver that is being torn
// down. Here it can hang without keeping the target from ending.
#pragma once

#include <atomic>
#include <cstdint>

namespace kvet::inject {

class FlushThread {
 public:
  // One turn of work. `last`: the process is ending. Returns how many milliseconds to sleep until the next; 0: until the last.
  using Turn = uint32_t (*)(void* owner, bool last);

  constexpr FlushThread() = default;

  // False: no thread can be made. The first turn comes after `first_ms`; 0: there is only the last.
  bool start(uint32_t first_ms, Turn turn, void* owner);

  // Makes the last turn, and waits for it. False: it was not over within `patience_ms`, or there is no thread. Either way no
  // turn begins afterwards. Once.
  bool finish(uint32_t patience_ms);

  // finish() has given up waiting: a turn that is not over yet must not touch CUPTI again.
  bool abandoned() const { return order_.load(std::memory_order_acquire) == leave; }

 private:
  enum Order : uint32_t { none, last_turn, taken, leave };
  void loop();
  static void* main(void* self);

  Turn turn_ = nullptr;
  void* owner_ = nullptr;
  uint32_t sleep_ms_ = 0;
  bool running_ = false;
  // Futexes: they need no allocation, and no lock that an interrupted thread may hold.
  std::atomic<uint32_t> order_{none};
  std::atomic<uint32_t> over_{0};
};

}  // namespace kvet::inject
