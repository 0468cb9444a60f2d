// The CUPTI stand-in's activity side: turns what the driver stand-in tells into CUPTI's records and hands them over the way
// the real library does it: late, in buffers that are partly filled, out of order, on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "abi/vendor/cupti_activity.h"
#include "cuda/observer.h"

#define SIMCUDA_API extern "C" __attribute__((visibility("default")))

namespace simcuda::cupti {

using Result = kvet_cupti_result;

// The functions of the driver stand-in, found when first needed: a sampler loads this library without the driver.
struct DriverFunctions {
  decltype(&simcuda_observe) observe = nullptr;
  decltype(&simcuda_collect) collect = nullptr;
  decltype(&simcuda_context_id) context_id = nullptr;
  decltype(&simcuda_stream_id) stream_id = nullptr;
  decltype(&simcuda_machine) machine = nullptr;
};
const DriverFunctions* driver_functions();

// Longest record: CUpti_ActivityDevice5.
struct Record {
  uint32_t size = 0;
  alignas(8) unsigned char bytes[248];
};
// Sizes of the records as CUDA 13.0's CUPTI delivers them; 0 for a kind that is never delivered.
uint32_t record_size(uint32_t kind);

enum class ThreadIds { truncated_pthread, system };
struct Options {
  std::atomic<uint64_t> enabled_kinds{0};  // a bit per activity kind
  std::atomic<bool> every_driver_call{false};
  std::atomic<uint32_t> driver_calls[1024]{};  // by callback id: 1 enabled
  std::atomic<int64_t> clock_offset_ns{0};  // from CLOCK_MONOTONIC to the clock of the records
  std::atomic<ThreadIds> thread_ids{ThreadIds::truncated_pthread};
  bool is_enabled(uint32_t kind) const { return (enabled_kinds.load(std::memory_order_relaxed) >> kind & 1) != 0; }
};
Options& options();

// Puts the driver's reports into the queue of records. Registered once.
Result begin_observing();
void queue_device_records();
void show_module(const void* image, size_t size);

// The queue and the thread that delivers.
void push(const Record& record);
void start_delivery(kvet_cupti_buffer_requested_function requested, kvet_cupti_buffer_completed_function completed);
void flush();
void set_flush_period(uint32_t milliseconds);
uint64_t take_dropped();

bool behaves(const char* how);  // $KVET_SIMCUDA_CUPTI
bool held_by_another_profiler();  // $KVET_SIMCUDA_CUPTI=held: every call that would subscribe fails

}  // namespace simcuda::cupti
