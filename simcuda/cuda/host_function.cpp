// Runs host functions (cuLaunchHostFunc) on a thread of the process that launched them.
#include <pthread.h>

#include <bit>
#include <thread>

#include "cuda/driver.h"

namespace simcuda::driver {
namespace {

// A host function of this process whose turn has come; `none` if there is no such thing.
uint32_t find_running(const World& world, uint32_t process) {
  for (uint32_t i = 0; i < world.busy_count; ++i) {
    uint32_t index = world.streams[world.busy_streams[i]].head;
    const Operation& head = world.operations[index];
    if (head.kind == OperationKind::host_function && head.state == OperationState::running && head.process == process) {
      return index;
    }
  }
  return none;
}

[[noreturn]] void run_host_functions() {
  Driver& self = driver();
  for (;;) {
    uint32_t index;
    void (*function)(void*) = nullptr;
    void* argument = nullptr;
    {
      Locked world(*self.world);
      index = find_running(*world, self.process);
      if (index != none) {
        function = std::bit_cast<void (*)(void*)>(world->operations[index].cookie);
        argument = std::bit_cast<void*>(world->operations[index].argument);
      }
    }
    if (index == none) {
      nap(monotonic_ns() + 200'000, true);
      continue;
    }
    function(argument);
    Locked world(*self.world);
    finish_host_function(*world, index);
  }
}

}  // namespace

void start_host_function_thread() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::thread runner(run_host_functions);
    pthread_setname_np(runner.native_handle(), "simcuda-host");
    runner.detach();
  });
}

}  // namespace simcuda::driver
