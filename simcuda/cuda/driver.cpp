#include "cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace simcuda::driver {

thread_local Context* current_context = nullptr;

Driver& driver() {
  static auto* instance = new Driver;  // never destroyed: calls may come during exit
  return *instance;
}

Result usable() {
  Driver& self = driver();
  return self.initialised && !self.forked ? success : error_not_initialized;
}

StreamHandle* resolve(void* stream) {
  if (current_context == nullptr) {
    return nullptr;
  }
  // 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD: one null stream, without the legacy one's waiting for all others.
  if (reinterpret_cast<uintptr_t>(stream) <= 2) {
    return &current_context->null_stream;
  }
  return static_cast<StreamHandle*>(stream);
}

void nap(int64_t until_ns, bool blocking) {
  constexpr int64_t worth_sleeping_ns = 100'000, longest_ns = 1'000'000;  // another process may change the future
  int64_t now = monotonic_ns();
  int64_t wake = std::min(until_ns, now + longest_ns);
  if (blocking || wake - now > worth_sleeping_ns) {
    wake = std::max(wake, now + 1000);
    timespec at{wake / 1'000'000'000, wake % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
  } else {
    sched_yield();
  }
}

namespace {

// Room for a process: a free slot, or one whose owner has died.
uint32_t claim_process(World& world) {
  for (uint32_t i = 0; i < max_processes; ++i) {
    Process& slot = world.processes[i];
    if (slot.used != 0 && kill(slot.pid, 0) != 0 && errno == ESRCH) {
      remove_process(world, i);
    }
    if (slot.used == 0) {
      slot = Process{
          .used = 1, .pid = getpid(), .wants_completions = 0, .done_head = none, .done_tail = none, .pending = 0};
      return i;
    }
  }
  return none;
}

void leave() {
  Driver& self = driver();
  if (self.initialised && !self.forked) {
    simcuda_collect();
    Locked world(*self.world);
    remove_process(*world, self.process);
    self.initialised = false;
  }
}

// As the real driver does in cuInit: the library that the variable names is loaded and told to set itself up.
void load_injection() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || path[0] == '\0') {
    return;
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return;
  }
  if (auto* initialise_injection = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))) {
    initialise_injection();
  }
}

Result initialise_driver() {
  Driver& self = driver();
  self.world = shared_world();
  if (self.world == nullptr) {
    return error_no_device;
  }
  {
    Locked world(*self.world);
    self.process = claim_process(*world);
    if (self.process == none) {
      return error_no_device;
    }
    world->processes[self.process].wants_completions = observed() ? 1 : 0;
  }
  pthread_atfork(nullptr, nullptr, [] { driver().forked = driver().initialised; });
  std::atexit(leave);
  self.initialised = true;
  load_injection();
  return success;
}

}  // namespace

SIMCUDA_API int cuInit(unsigned flags) {
  static std::once_flag once;
  static Result outcome = success;
  if (flags != 0) {
    return error_invalid_value;
  }
  if (driver().forked) {
    return error_not_initialized;
  }
  std::call_once(once, [] { outcome = initialise_driver(); });
  return outcome;
}

SIMCUDA_API int cuDriverGetVersion(int* version) {
  if (version == nullptr) {
    return error_invalid_value;
  }
  *version = 13000;
  return success;
}

}  // namespace simcuda::driver
