// simcuda's own way to see what its driver does, used by the CUPTI stand-in and by workloads that write down the truth.
// Exported by the libcuda.so.1 stand-in beside the real names; no other program may count on it.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// One driver call, seen when it returns.
struct simcuda_call {
  uint32_t callback_id;  // as CUPTI numbers driver entry points
  uint32_t correlation_id;
  uint32_t thread_id;
  int32_t result;
  int64_t start_ns, end_ns;
};

// One kernel, copy or fill that has ended.
struct simcuda_execution {
  enum Kind : uint32_t { kernel = 0, copy = 1, fill = 2 };
  uint32_t kind;
  uint32_t device, context_id, stream_id;
  uint32_t correlation_id;
  uint32_t graph_id;
  uint64_t graph_node_id;
  int64_t submitted_ns, start_ns, end_ns;
  uint64_t serial;  // order of submission in the whole machine
  const char* name;
  uint32_t registers_per_thread, static_shared_bytes, dynamic_shared_bytes, local_bytes;
  uint32_t grid[3], block[3], cluster[3];
  uint32_t launch_type;
  uint64_t bytes;  // of a copy or fill
  uint32_t copy_kind;  // as CUPTI numbers them
  uint32_t is_collective;
  uint64_t collective_sequence;
  int64_t latest_arrival_ns;  // of a collective: when the last rank arrived
  uint32_t communicator, rank;
};

struct simcuda_stream {
  uint32_t context_id, stream_id, device;
  int32_t priority;
  uint32_t flags;  // as CUPTI numbers them
};

struct simcuda_observer {
  void* user;
  void (*on_call)(void* user, const simcuda_call* call);
  void (*on_execution)(void* user, const simcuda_execution* execution);
  void (*on_context)(void* user, uint32_t context_id, uint32_t device, uint32_t null_stream_id);
  void (*on_stream)(void* user, const simcuda_stream* stream);
  void (*on_module)(void* user, const void* image, size_t size);  // an ELF file, valid during the call
};

// From now on `observer` is told; contexts and streams that exist are told at once. Members may be null. At most four.
int simcuda_observe(const simcuda_observer* observer);
// Tells observers of everything that has ended by now. Observers are called by the thread that collects.
void simcuda_collect();
// What CUPTI calls a context and a stream.
uint32_t simcuda_context_id(void* context);
uint32_t simcuda_stream_id(void* stream);
// The machine (simcuda::World), for the other stand-ins of this process; null before cuInit.
void* simcuda_machine();
// This process's slot in it.
uint32_t simcuda_process();
}
