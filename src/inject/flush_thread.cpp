#include "inject/flush_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/clock.h"

namespace kvet::inject {
namespace {

uint32_t* word(std::atomic<uint32_t>& value) { return reinterpret_cast<uint32_t*>(&value); }

// Sleeps while `value` is `same`, `milliseconds` at most (0: without limit), or less for no reason.
void wait_while(std::atomic<uint32_t>& value, uint32_t same, uint64_t milliseconds) {
  const timespec time{static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds % 1000 * 1'000'000)};
  syscall(SYS_futex, word(value), FUTEX_WAIT_PRIVATE, same, milliseconds == 0 ? nullptr : &time, nullptr, 0);
}

void wake(std::atomic<uint32_t>& value) { syscall(SYS_futex, word(value), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

constexpr uint64_t ns_per_ms = 1'000'000;

}  // namespace

bool FlushThread::start(uint32_t first_ms, Turn turn, void* owner) {
  turn_ = turn;
  owner_ = owner;
  sleep_ms_ = first_ms;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) {
    return false;
  }
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The target's signals are the target's: none is ever delivered to this thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  running_ = pthread_create(&thread, &attributes, main, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return running_;
}

void* FlushThread::main(void* self) {
  pthread_setname_np(pthread_self(), "kvet-flush");
  static_cast<FlushThread*>(self)->loop();
  return nullptr;
}

void FlushThread::loop() {
  for (;;) {
    const uint64_t until = monotonic_ns() + sleep_ms_ * ns_per_ms;
    while (order_.load(std::memory_order_acquire) == none) {
      const uint64_t now = monotonic_ns();
      if (sleep_ms_ != 0 && now >= until) {
        break;
      }
      wait_while(order_, none, sleep_ms_ == 0 ? 0 : (until - now + ns_per_ms - 1) / ns_per_ms);
    }
    uint32_t order = last_turn;
    if (order_.compare_exchange_strong(order, taken, std::memory_order_acq_rel)) {
      turn_(owner_, true);
      over_.store(1, std::memory_order_release);
      wake(over_);
      return;
    }
    if (order == leave) {
      return;
    }
    sleep_ms_ = turn_(owner_, false);
  }
}

bool FlushThread::finish(uint32_t patience_ms) {
  if (!running_) {
    order_.store(leave, std::memory_order_release);
    return false;
  }
  order_.store(last_turn, std::memory_order_release);
  wake(order_);
  const uint64_t until = monotonic_ns() + patience_ms * ns_per_ms;
  while (over_.load(std::memory_order_acquire) == 0) {
    const uint64_t now = monotonic_ns();
    if (now >= until) {
      order_.store(leave, std::memory_order_release);
      return false;
    }
    wait_while(over_, 0, (until - now + ns_per_ms - 1) / ns_per_ms);
  }
  return true;
}

}  // namespace kvet::inject
