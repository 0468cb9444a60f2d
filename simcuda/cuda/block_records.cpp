// What blocks write into pinned memory: when they ran, and where. A kernel is executed by the model, perhaps while another process
// looks at it; its times are told to this process later, as they are told to a profiler.
#include <cstring>
#include <map>
#include <mutex>

#include "cuda/driver.h"

namespace simcuda::driver {
namespace {

struct BlockRecord {
  uint64_t entry_ns, exit_ns;
  uint32_t multiprocessor, polls;
  uint64_t reserved;
};
static_assert(sizeof(BlockRecord) == 32);

struct Expected {
  uint64_t address, blocks;
};
std::mutex mutex;
std::map<uint32_t, Expected> expected;  // by correlation id

// The model knows a kernel's start and end; each of its blocks is said to have stayed from one to the other.
void write(void*, const simcuda_execution* execution) {
  Expected place{};
  {
    std::lock_guard guard(mutex);
    auto found = expected.find(execution->correlation_id);
    if (found == expected.end()) {
      return;
    }
    place = found->second;
    expected.erase(found);
  }
  for (uint64_t block = 0; block < place.blocks; ++block) {
    BlockRecord record{gpu_timer(execution->start_ns), gpu_timer(execution->end_ns),
                       static_cast<uint32_t>(block % multiprocessors), 0, 0};
    std::memcpy(reinterpret_cast<void*>(place.address + block * sizeof record), &record, sizeof record);
  }
}

}  // namespace

void expect_records(uint32_t correlation, const Launch& launch) {
  static const bool observing = [] {
    simcuda_observer observer{};
    observer.on_execution = write;
    return simcuda_observe(&observer) == success;
  }();
  if (observing) {
    std::lock_guard guard(mutex);
    expected[correlation] = {launch.records, static_cast<uint64_t>(launch.grid[0]) * launch.grid[1] * launch.grid[2]};
  }
}

void deliver_records() {
  finish_handshakes();
  {
    std::lock_guard guard(mutex);
    if (expected.empty()) {
      return;  // nobody's profiler is called by a thread that did not ask for anything
    }
  }
  simcuda_collect();
}

}  // namespace simcuda::driver
