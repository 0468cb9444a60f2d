#include "device/shared_world.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <mutex>

#include "device/engine.h"

namespace simcuda {
namespace {

constexpr uint64_t world_magic = 0x61647563'6d697321ull;
constexpr uint32_t world_version = 1;

uint32_t wanted_devices() {
  const char* text = std::getenv("KVET_SIMCUDA_DEVICES");
  long wanted = text == nullptr ? 1 : std::strtol(text, nullptr, 10);
  return static_cast<uint32_t>(std::clamp<long>(wanted, 1, max_devices));
}

// As on an H200: the counters' times look like real time, lie about 250 µs before the same moment on CUPTI's activity
// clock, and drift by 2.8 µs per second. $KVET_SIMCUDA_COUNTER_OFFSET_NS plants another offset to CLOCK_MONOTONIC, at its
// zero, and $KVET_SIMCUDA_COUNTER_DRIFT_NS_PER_S another drift.
void plant_counter_clock(World& world) {
  const char* drift = std::getenv("KVET_SIMCUDA_COUNTER_DRIFT_NS_PER_S");
  world.counter_drift_ns_per_s = drift == nullptr ? 2800 : std::strtod(drift, nullptr);
  if (const char* offset = std::getenv("KVET_SIMCUDA_COUNTER_OFFSET_NS")) {
    world.counter_offset_ns = std::strtoll(offset, nullptr, 10);
    return;
  }
  timespec real{};
  clock_gettime(CLOCK_REALTIME, &real);
  int64_t now_ns = monotonic_ns();
  auto drifted_ns = static_cast<int64_t>(world.counter_drift_ns_per_s * static_cast<double>(now_ns) / 1e9);
  world.counter_offset_ns = real.tv_sec * 1'000'000'000LL + real.tv_nsec - now_ns - 250'000 - drifted_ns;
}

void make_world(World& world) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&world.mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  initialise(world, wanted_devices(), monotonic_ns());
  plant_counter_clock(world);
  world.version = world_version;
  world.magic = world_magic;
}

World* map_world() {
  const char* path = std::getenv("KVET_SIMCUDA_DEVICE");
  constexpr int protection = PROT_READ | PROT_WRITE;
  if (path == nullptr || path[0] == '\0') {
    void* memory = mmap(nullptr, sizeof(World), protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      return nullptr;
    }
    auto* world = static_cast<World*>(memory);
    make_world(*world);
    return world;
  }
  int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return nullptr;
  }
  flock(descriptor, LOCK_EX);
  struct stat status{};
  fstat(descriptor, &status);
  bool is_new = status.st_size == 0;
  World* world = nullptr;
  if (is_new ? ftruncate(descriptor, sizeof(World)) == 0 : status.st_size == static_cast<off_t>(sizeof(World))) {
    void* memory = mmap(nullptr, sizeof(World), protection, MAP_SHARED, descriptor, 0);
    world = memory == MAP_FAILED ? nullptr : static_cast<World*>(memory);
  }
  if (world != nullptr && is_new) {
    make_world(*world);
  }
  if (world != nullptr && (world->magic != world_magic || world->version != world_version)) {
    munmap(world, sizeof(World));
    world = nullptr;
  }
  flock(descriptor, LOCK_UN);
  close(descriptor);
  return world;
}

}  // namespace

int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

World* shared_world() {
  static std::once_flag once;
  static World* world = nullptr;
  std::call_once(once, [] { world = map_world(); });
  return world;
}

Locked::Locked(World& world) : world_(world) {
  if (pthread_mutex_lock(&world_.mutex) == EOWNERDEAD) {
    // Somebody was killed inside. The arrays are always walkable; at worst one operation of the dead process is half made.
    pthread_mutex_consistent(&world_.mutex);
  }
  advance(world_, monotonic_ns());
}

Locked::~Locked() { pthread_mutex_unlock(&world_.mutex); }

}  // namespace simcuda
