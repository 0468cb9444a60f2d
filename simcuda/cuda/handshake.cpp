// A kernel that answers questions of the host through pinned memory while it runs. The model knows no such thing, so a thread
// answers in the kernel's place, at once; what it says is the GPU's timer.
#include <atomic>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#include "cuda/driver.h"

namespace simcuda::driver {
namespace {

// src/gpu_work/kernels.h: the host's question, 128 bytes further the answer, 256 bytes further the times.
constexpr uint64_t answer_place = 128, times_place = 256;
constexpr uint64_t over = ~uint64_t{0};

std::mutex mutex;
std::vector<std::thread> threads;

std::atomic_ref<uint64_t> word(uint64_t address) {
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(address));
}

// Unlike a GPU this thread shares processors with the one that asks, and either may have to wait for one: so it counts what it
// has run itself, and is patient.
constexpr int64_t patience = 50;

int64_t own_ns() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return int64_t{spent.tv_sec} * 1'000'000'000 + spent.tv_nsec;
}

void answer(Handshake handshake) {
  const int64_t start_ns = own_ns();
  for (uint64_t round = 1; round <= handshake.rounds; ++round) {
    uint64_t asked = 0;
    while ((asked = word(handshake.page).load(std::memory_order_acquire)) < round) {
      if (own_ns() - start_ns >= patience * handshake.give_up_ns) {
        asked = over;
        break;
      }
    }
    if (asked == over) {
      word(handshake.page + answer_place).store(over, std::memory_order_release);
      return;
    }
    const int64_t now_ns = monotonic_ns();
    word(handshake.page + times_place + (round - 1) * 8).store(gpu_timer(now_ns), std::memory_order_relaxed);
    word(handshake.page + answer_place).store(round, std::memory_order_release);
  }
}

}  // namespace

uint64_t gpu_timer(int64_t at_ns) {
  // The clock of the counters, 250 µs further: as on an H200.
  constexpr int64_t ahead_ns = 250'000;
  const World& world = *driver().world;
  const double drifted_ns = world.counter_drift_ns_per_s * static_cast<double>(at_ns) / 1e9;
  return static_cast<uint64_t>(at_ns + world.counter_offset_ns + ahead_ns + static_cast<int64_t>(drifted_ns));
}

void begin_handshake(const Handshake& handshake) {
  std::lock_guard guard(mutex);
  threads.emplace_back(answer, handshake);
}

void finish_handshakes() {
  std::lock_guard guard(mutex);
  for (std::thread& thread : threads) {
    thread.join();
  }
  threads.clear();
}

}  // namespace simcuda::driver
