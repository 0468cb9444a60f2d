// One recording in one process: from InitializeInjection to the end of the process. The library's one global object.
//
// The target comes first: whatever fails, start() returns, the status in the table says why, and CUPTI is left as it was.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "inject/collector.h"
#include "inject/cupti.h"
#include "inject/flush_thread.h"
#include "inject/reader_watch.h"
#include "inject/settings.h"

namespace kvet::inject {

class Session {
 public:
  constexpr Session() = default;

  // Once per process; later calls do nothing.
  void start();

  // Forwards NVTX to CUPTI's own implementation. What NVTX wants to hear: 1 handled, 0 not.
  int start_nvtx(void* get_export_table);

  // At exit of the process: flush, last batch, goodbye. Takes three seconds at most, whatever CUPTI does.
  void finish();

  // In a forked child of a process that was recording: CUDA is dead there, and so is this.
  void become_forked_child();

  Collector collector;

 private:
  enum class Phase : int { unborn, starting, idle, recording, finished, forked };

  bool create_table();
  bool start_with(void* handle);
  kvet_cupti_result enable_everything();
  void disable_everything();
  void enable_calls();
  void give_up();
  void wait_for_reader();
  void say_that_nothing_will_come();
  uint32_t flush_turn(bool last);
  uint32_t turn_ms() const { return settings_.flush_ms == 0 ? 1000 : settings_.flush_ms; }
  void set_status(kvet_inject_status status, uint32_t code);

  Settings settings_{};
  Cupti cupti_{};
  std::atomic<Phase> phase_{Phase::unborn};
  pid_t pid_ = 0;
  uint32_t waited_ms_ = 0;  // at start-up, of KVET_WAIT_MS
  kvet_cupti_subscriber_t subscriber_ = nullptr;
  bool all_driver_calls_ = false;
  FlushThread flush_thread_;
  // The flush thread's own.
  uint64_t completed_before_ = 0;
  uint32_t turns_skipped_ = 0;
  ReaderWatch reader_watch_;
  bool given_up_ = false;
};

Session& session();

}  // namespace kvet::inject
